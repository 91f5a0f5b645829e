// A gRPC client that sends exactly the given bytes, including invalid ones, and returns exactly the received ones.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { ErrorInfo } from '../../proto/gen/google/rpc/error_details.ts';
import { Status } from '../../proto/gen/google/rpc/status.ts';

export interface RawReply {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** From the trailers, or from the headers of a reply without a body. */
  readonly status: number | undefined;
  readonly message: string;
  readonly resetCode: number;
}

export interface RawRequest {
  readonly path: string;
  readonly headers?: Record<string, string>;
  /** Sent unchanged, each in a separate write; the caller adds the framing. */
  readonly pieces?: readonly Uint8Array[];
}

export class RawGrpc {
  readonly session: ClientHttp2Session;

  /** Connects to a port, or uses an existing session. */
  constructor(to: number | ClientHttp2Session) {
    this.session = typeof to === 'number' ? connect(`http://127.0.0.1:${to}`) : to;
    this.session.on('error', () => undefined);
  }

  call(request: RawRequest): Promise<RawReply> {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': request.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...request.headers,
    });
    for (const piece of request.pieces ?? []) stream.write(piece);
    stream.end();
    return replyOn(stream);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.session.close(resolve));
  }
}

/** The reply on a stream, complete when the stream closes. */
export function replyOn(stream: ClientHttp2Stream): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const body: Buffer[] = [];
    stream.on('response', (received) => void (headers = received));
    stream.on('trailers', (received) => void (trailers = received));
    stream.on('data', (piece: Buffer) => body.push(piece));
    stream.on('error', reject);
    stream.on('close', () => {
      const ending = { ...headers, ...trailers };
      const status = ending['grpc-status'];
      resolve({
        headers,
        trailers,
        body: Buffer.concat(body),
        status: status === undefined ? undefined : Number(status),
        message: decodeURIComponent(String(ending['grpc-message'] ?? '')),
        resetCode: stream.rstCode,
      });
    });
  });
}

/** The five bytes before a message of this length; the flag says whether it is compressed. */
export function prefix(length: number, flag: number = 0): Buffer {
  const header = Buffer.from([flag, 0, 0, 0, 0]);
  header.writeUInt32BE(length, 1);
  return header;
}

/** A message with its prefix. */
export function framed(message: Uint8Array, flag: number = 0): Buffer {
  return Buffer.concat([prefix(message.length, flag), message]);
}

/** The rich status with its ErrorInfos; undefined when there is none. */
export function richStatusOf({
  headers,
  trailers,
}: RawReply): { readonly code: number; readonly infos: readonly ErrorInfo[] } | undefined {
  const details = { ...headers, ...trailers }['grpc-status-details-bin'];
  if (typeof details !== 'string') return undefined;
  const status = Status.decode(Buffer.from(details, 'base64'));
  const infos = status.details.filter(({ typeUrl }) => typeUrl.endsWith('ErrorInfo'));
  return { code: status.code, infos: infos.map(({ value }) => ErrorInfo.decode(value)) };
}
