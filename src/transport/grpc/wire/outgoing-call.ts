/** A call to another gRPC server: sends one message in its frame, and streams the reply. */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { FRAME_HEADER_BYTES, writeFrameHeader } from './framing.ts';
import { type CallStatus, statusName } from './status.ts';

export const CALL_HEADERS: OutgoingHttpHeaders = {
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
};

/** Headers and trailers that gRPC sets itself. */
export const OWN_HEADERS: readonly string[] = [
  'content-type',
  'date',
  'grpc-accept-encoding',
  'grpc-encoding',
  'grpc-message',
  'grpc-status',
  'te',
  'trailer',
];

const DETAILS = 'grpc-status-details-bin';

/** Disposing of it cancels what has not ended. */
export class OutgoingCall implements Disposable {
  readonly #stream: ClientHttp2Stream;
  readonly #signal: AbortSignal;
  /** Drops what is unsent of the request as well: a stream that is only closed may outlive its connection. */
  readonly #cancel = (): void => {
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.destroy();
  };
  headers: IncomingHttpHeaders | undefined;
  trailers: IncomingHttpHeaders | undefined;

  /** Sends the message. The signal cancels the stream. */
  constructor(stream: ClientHttp2Stream, message: Uint8Array, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    signal.addEventListener('abort', this.#cancel);
    if (signal.aborted) this.#cancel();
    // A reader sees that it has ended, and how.
    stream.on('error', () => undefined);
    stream.once('response', (headers) => {
      this.headers = headers;
      if (headers['grpc-status'] !== undefined) this.trailers = headers;
    });
    stream.once('trailers', (trailers: IncomingHttpHeaders) => {
      this.trailers = trailers;
    });
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    writeFrameHeader(header, 0, message.length);
    stream.write(header);
    stream.end(message);
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#cancel);
    this.#cancel();
  }

  /** Resolves when its headers are there, or will not come. */
  async begun(): Promise<void> {
    const stream = this.#stream;
    if (this.headers !== undefined || stream.closed) return;
    await new Promise<void>((resolve) => {
      stream.once('response', () => resolve()).once('close', () => resolve());
    });
  }

  /** The pieces of its messages, as they come; they end when no more come, for any reason. */
  async *pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of this.#stream) if (Buffer.isBuffer(piece)) yield piece;
    } catch (failure) {
      if (!this.#stream.destroyed) throw failure;
    }
  }

  /** The message of a unary call once it is complete; undefined: none is, or it is longer. */
  async message(bytesMax: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of this.pieces()) {
      length += piece.length;
      if (length > FRAME_HEADER_BYTES + bytesMax) return undefined;
      pieces.push(piece);
    }
    return this.status?.code === 'OK' ? Buffer.concat(pieces).subarray(FRAME_HEADER_BYTES) : undefined;
  }

  /** Status from the other server; undefined: there is none, and it may have executed the request. */
  get status(): CallStatus | undefined {
    return this.trailers === undefined ? undefined : statusIn(this.trailers);
  }

  /** Code with which the stream was reset. */
  get rstCode(): number | undefined {
    return this.#stream.rstCode;
  }
}

function statusIn(trailers: IncomingHttpHeaders): CallStatus {
  const details = textOf(trailers[DETAILS]);
  const texts = Object.entries(trailers).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && !/^:|-bin$/.test(entry[0]) && !OWN_HEADERS.includes(entry[0]),
  );
  return {
    code: statusName(Number(trailers['grpc-status'])),
    message: messageIn(textOf(trailers['grpc-message']) ?? ''),
    ...(details !== undefined && { details: Buffer.from(details, 'base64') }),
    trailers: Object.fromEntries(texts),
  };
}

/** Decodes it like grpc-js. */
function messageIn(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/** The first value of a header. */
export function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
