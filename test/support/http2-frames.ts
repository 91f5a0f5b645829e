/** An HTTP/2 connection on which the test writes every frame itself and reads the received frames. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const FRAME_HEADER_BYTES = 9;
const [RST_STREAM, SETTINGS, GOAWAY] = [3, 4, 7];
const ACK = 1;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

export const SETTINGS_FRAME: Buffer = frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: new Uint8Array() });
export const ACKNOWLEDGEMENT: Buffer = frameOf({ type: SETTINGS, flags: ACK, stream: 0, payload: new Uint8Array() });

/** Encodes a frame. */
export function frameOf({ type, flags, stream, payload }: Frame): Buffer {
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * The header block of a gRPC request, as literals (RFC 7541, 6.2.2); it starts by setting the table size to 0 (6.3).
 */
export function grpcHeaders(path: string): Buffer {
  const field = (name: string, value: string): Buffer =>
    Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
  const pseudo = [field(':method', 'POST'), field(':scheme', 'http'), field(':path', path), field(':authority', 'a')];
  return Buffer.concat([
    Buffer.of(0x20),
    ...pseudo,
    field('te', 'trailers'),
    field('content-type', 'application/grpc'),
  ]);
}

/** A reference to the newest header in the HPACK table (RFC 7541, 6.1). */
export const TABLE_REFERENCE: number = 0x80 | 62;

/** The same headers, a header that adds 3,900 bytes to the HPACK table, and references to it. */
export function grpcHeadersWithTable(path: string, references: Uint8Array): Buffer {
  // Incremental indexing of the name "x", and 3,900 as a length of 7 bits (RFC 7541, 6.2.1 and 5.1).
  const indexed = [Buffer.from([0x40, 1, 0x78, 0x7f, 0xbd, 0x1d]), Buffer.alloc(3_900, 'a')];
  return Buffer.concat([grpcHeaders(path).subarray(1), ...indexed, references]);
}

export class Frames implements AsyncDisposable {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  /** All received frames. */
  readonly received: Frame[] = [];
  isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => this.#read(piece));
    socket.once('close', () => void (this.isClosed = true));
  }

  /** Codes of stream resets. */
  get resets(): readonly number[] {
    return this.#of(RST_STREAM).map(({ payload }) => Buffer.from(payload).readUInt32BE());
  }

  /** The code of the last GOAWAY. */
  get goAway(): number | undefined {
    const last = this.#of(GOAWAY).at(-1);
    return last && Buffer.from(last.payload).readUInt32BE(4);
  }

  /** SETTINGS frames that are not acknowledgements. */
  get settings(): readonly Frame[] {
    return this.#of(SETTINGS).filter(({ flags }) => flags === 0);
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isClosed) return;
    this.#socket.destroy();
    await once(this.#socket, 'close');
  }

  #of(type: number): readonly Frame[] {
    return this.received.filter((frame) => frame.type === type);
  }

  #read(piece: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, piece]);
    while (this.#rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      const [type, flags, stream] = [this.#rest.readUInt8(3), this.#rest.readUInt8(4), this.#rest.readUInt32BE(5)];
      this.received.push({ type, flags, stream, payload: this.#rest.subarray(FRAME_HEADER_BYTES, end) });
      this.#rest = this.#rest.subarray(end);
    }
  }
}

/** A connection on which nothing was sent. */
export async function dialFrames(port: number): Promise<Frames> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return new Frames(socket);
}

/** A connection whose settings are acknowledged. */
export async function openFrames(port: number): Promise<Frames> {
  const frames = await dialFrames(port);
  frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]));
  return frames;
}
