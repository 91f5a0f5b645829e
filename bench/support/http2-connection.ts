/**
 * A minimal HTTP/2 client connection for gRPC load: requests use a fixed header block, and headers of replies are not
 * decoded. A call costs it a few microseconds, so that the benchmark measures the server.
 *
 * A reply succeeds when it carries a message: a gRPC error has only trailers and no DATA.
 *
 * Implemented: flow control in both directions, acknowledgements of SETTINGS and PING, concurrent streams. Not
 * implemented: header compression (the table size is set to 0), push, priorities, TLS.
 */
import { connect, type Socket } from 'node:net';

const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const CALLERS_PER_CONNECTION = 32;
const FRAME_HEADER_BYTES = 9;
/** Initial limits of the peer before its SETTINGS, RFC 9113 section 6.5.2. */
const DEFAULT_WINDOW = 65_535;
const MAX_FRAME_BYTES = 16_384;
const RECEIVE_WINDOW = 2 ** 30;
/** Received bytes after which the connection's window is increased again. */
const TOP_UP_BYTES = 2 ** 20;

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;

const SETTING_HEADER_TABLE_SIZE = 1;
const SETTING_MAX_CONCURRENT_STREAMS = 3;
const SETTING_INITIAL_WINDOW_SIZE = 4;

/** Result of a call: whether it carried a message, the bytes of its messages, and the reason of a failure. */
export interface CallResult {
  readonly ok: boolean;
  readonly messageBytes: number;
}

export interface CallHandler {
  /** Receives parts of the reply's length-prefixed messages, in order; the bytes are only valid during the call. */
  onData?(bytes: Buffer): void;
  onEnd(result: CallResult): void;
}

interface Call {
  readonly handler: CallHandler;
  messageBytes: number;
  sendWindow: number;
  /** The rest of the request that is not sent yet. */
  unsent: Buffer | undefined;
  /** True when the request ends with these bytes. */
  readonly isWhole: boolean;
}

export interface OpenOptions {
  /** Window of each stream in bytes; default 1 GiB. With 0, the server can send no message. */
  readonly windowBytes?: number;
}

export class Http2Connection {
  readonly #socket: Socket;
  readonly #calls = new Map<number, Call>();
  #nextStream = 1;
  #rest: Buffer | undefined;
  #sendWindow = DEFAULT_WINDOW;
  #initialWindow = DEFAULT_WINDOW;
  #streamsMax = 0;
  #received = 0;
  #out: Buffer[] = [];
  #flushing = false;
  #failed: Error | undefined;
  /** Resolves with the first settings of the server, or when the connection fails. */
  readonly #settled = Promise.withResolvers<undefined>();

  readonly #windowBytes: number;

  /** Opens HTTP/2 on a connected socket. */
  constructor(socket: Socket, { windowBytes = RECEIVE_WINDOW }: OpenOptions = {}) {
    this.#socket = socket;
    this.#windowBytes = windowBytes;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(SETTING_HEADER_TABLE_SIZE, 0);
    settings.writeUInt16BE(SETTING_INITIAL_WINDOW_SIZE, 6);
    settings.writeUInt32BE(windowBytes, 8);
    this.#send(PREFACE);
    this.#send(frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: settings }));
    this.#send(windowUpdate(0, RECEIVE_WINDOW));
  }

  static async open(address: { readonly host: string; readonly port: number }): Promise<Http2Connection> {
    const socket = connect({ ...address, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new Http2Connection(socket);
  }

  /** Connections for this number of callers, like those of a client pool, once the server has sent its settings. */
  static async pool(
    address: { readonly host: string; readonly port: number },
    callers: number,
  ): Promise<readonly Http2Connection[]> {
    const count = Math.ceil(callers / CALLERS_PER_CONNECTION);
    const connections = await Promise.all(Array.from({ length: count }, () => Http2Connection.open(address)));
    await Promise.all(connections.map((connection) => connection.#settled.promise));
    return connections;
  }

  /** True while it accepts calls. */
  get isOpen(): boolean {
    return this.#failed === undefined;
  }

  /** Starts a call. `headers` comes from `grpcHeaders`, `body` is one length-prefixed message. */
  call(headers: Buffer, body: Buffer, handler: CallHandler): void {
    this.#begin(headers, { body, handler, isWhole: true });
  }

  /** Starts a call whose request never ends. */
  callWithoutEnd(headers: Buffer, body: Buffer, handler: CallHandler): void {
    this.#begin(headers, { body, handler, isWhole: false });
  }

  /**
   * Maximum number of concurrent calls on the server, which the caller must respect; 0 unless the server has sent one.
   */
  get streamsMax(): number {
    return this.#streamsMax;
  }

  /** Returns whether the server allows another call, and fewer than `most` are unanswered. */
  hasRoom(most: number): boolean {
    return this.#calls.size < Math.min(most, this.#streamsMax || most);
  }

  /** Number of unanswered calls. */
  get callCount(): number {
    return this.#calls.size;
  }

  /** Accepts so many more bytes of the reply of each call. */
  grant(bytes: number): void {
    for (const stream of this.#calls.keys()) this.#send(windowUpdate(stream, bytes));
  }

  #begin(
    headers: Buffer,
    { body, handler, isWhole }: Pick<Call, 'handler' | 'isWhole'> & { readonly body: Buffer },
  ): void {
    if (this.#failed !== undefined) throw this.#failed;
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const call: Call = { handler, messageBytes: 0, sendWindow: this.#initialWindow, unsent: body, isWhole };
    this.#calls.set(stream, call);
    this.#send(frameOf({ type: HEADERS, flags: END_HEADERS, stream, payload: headers }));
    this.#sendBody(stream, call);
  }

  close(): void {
    this.#failed = new Error('the connection was closed');
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #sendBody(stream: number, call: Call): void {
    while (call.unsent !== undefined) {
      const room = Math.min(call.unsent.length, MAX_FRAME_BYTES, this.#sendWindow, call.sendWindow);
      if (room <= 0) return;
      const payload = call.unsent.subarray(0, room);
      const last = room === call.unsent.length;
      call.unsent = last ? undefined : call.unsent.subarray(room);
      call.sendWindow -= room;
      this.#sendWindow -= room;
      this.#send(frameOf({ type: DATA, flags: last && call.isWhole ? END_STREAM : 0, stream, payload }));
    }
  }

  // All frames of an event-loop turn are sent in one write.
  #send(bytes: Buffer): void {
    this.#out.push(bytes);
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      const [first, ...more] = this.#out;
      this.#out = [];
      if (first !== undefined) this.#socket.write(more.length === 0 ? first : Buffer.concat([first, ...more]));
    });
  }

  #receive(chunk: Buffer): void {
    let bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      this.#frame(bytes.readUInt8(3), bytes.readUInt8(4), {
        stream: bytes.readUInt32BE(5) & 0x7fffffff,
        payload: bytes.subarray(FRAME_HEADER_BYTES, end),
      });
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes.length === 0 ? undefined : Buffer.from(bytes);
  }

  #frame(type: number, flags: number, at: { readonly stream: number; readonly payload: Buffer }): void {
    const call = this.#calls.get(at.stream);
    switch (type) {
      case DATA:
        this.#topUp(at.stream, at.payload.length);
        if (call !== undefined) {
          call.messageBytes += at.payload.length;
          call.handler.onData?.(at.payload);
        }
        break;
      case SETTINGS:
        if ((flags & ACK) === 0) this.#applySettings(at.payload);
        return;
      case PING:
        if ((flags & ACK) === 0)
          this.#send(frameOf({ type: PING, flags: ACK, stream: 0, payload: Buffer.from(at.payload) }));
        return;
      case WINDOW_UPDATE:
        this.#widen(at.stream, at.payload.readUInt32BE(0));
        return;
      case RST_STREAM:
        this.#end(at.stream, false);
        return;
      case GOAWAY:
        // Streams up to this number still get their replies.
        this.#fail(new Error(`the server ends the connection: ${goodbyeOf(at.payload)}`), {
          fromStream: at.payload.readUInt32BE(0) + 1,
        });
        return;
      default:
        break;
    }
    if ((flags & END_STREAM) !== 0 && call !== undefined) this.#end(at.stream, call.messageBytes > 0);
  }

  #end(stream: number, ok: boolean): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    call?.handler.onEnd({ ok, messageBytes: call.messageBytes });
  }

  #topUp(stream: number, bytes: number): void {
    this.#received += bytes;
    if (this.#received < TOP_UP_BYTES) return;
    this.#send(windowUpdate(0, this.#received));
    const isWide = this.#windowBytes === RECEIVE_WINDOW;
    if (isWide && this.#calls.has(stream)) this.#send(windowUpdate(stream, this.#received));
    this.#received = 0;
  }

  #widen(stream: number, by: number): void {
    if (stream === 0) this.#sendWindow += by;
    const waiting = stream === 0 ? [...this.#calls] : [...this.#calls].filter(([id]) => id === stream);
    for (const [id, call] of waiting) {
      if (stream !== 0) call.sendWindow += by;
      if (call.unsent !== undefined) this.#sendBody(id, call);
    }
  }

  #applySettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const setting = payload.readUInt16BE(at);
      if (setting === SETTING_MAX_CONCURRENT_STREAMS) this.#streamsMax = payload.readUInt32BE(at + 2);
      if (setting !== SETTING_INITIAL_WINDOW_SIZE) continue;
      const window = payload.readUInt32BE(at + 2);
      for (const call of this.#calls.values()) call.sendWindow += window - this.#initialWindow;
      this.#initialWindow = window;
    }
    this.#send(frameOf({ type: SETTINGS, flags: ACK, stream: 0, payload: Buffer.alloc(0) }));
    this.#settled.resolve(undefined);
    for (const [id, call] of this.#calls) this.#sendBody(id, call);
  }

  /** Accepts no more calls, and ends calls from this stream on. */
  #fail(error: Error, { fromStream }: { readonly fromStream: number } = { fromStream: 0 }): void {
    this.#failed ??= error;
    this.#settled.resolve(undefined);
    for (const stream of Array.from(this.#calls.keys())) if (stream >= fromStream) this.#end(stream, false);
  }
}

/** The header block of a gRPC request, as literals without compression (RFC 7541 section 6.2.2). */
export function grpcHeaders(path: string, extra: Readonly<Record<string, string>> = {}): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, 'latin1');
    if (bytes.length > 126)
      throw new RangeError(`a header value of ${bytes.length} bytes; at most 126 are needed here`);
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  };
  // 0x20 empties the dynamic table, which is required after the peer has set its size to 0 (RFC 7541, 4.2). Static
  // table: 3 is :method POST, 6 is :scheme http; names 4 :path, 1 :authority, 31 content-type.
  const parts = [Buffer.from([0x20, 0x83, 0x86, 0x04]), text(path), Buffer.from([0x01]), text('bench')];
  parts.push(Buffer.from([0x0f, 31 - 15]), text('application/grpc'), Buffer.from([0x00]), text('te'), text('trailers'));
  for (const [name, value] of Object.entries(extra)) parts.push(Buffer.from([0x00]), text(name), text(value));
  return Buffer.concat(parts);
}

/** One length-prefixed gRPC message, uncompressed. */
export function grpcMessage(body: Uint8Array): Buffer {
  const framed = Buffer.alloc(5 + body.length);
  framed.writeUInt32BE(body.length, 1);
  framed.set(body, 5);
  return framed;
}

/** Encodes one frame. */
function frameOf(parts: {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}): Buffer {
  const { payload } = parts;
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(parts.type, 3);
  bytes.writeUInt8(parts.flags, 4);
  bytes.writeUInt32BE(parts.stream, 5);
  payload.copy(bytes, FRAME_HEADER_BYTES);
  return bytes;
}

/** Error code and debug data of a GOAWAY frame. */
function goodbyeOf(payload: Buffer): string {
  return `code ${payload.readUInt32BE(4)} ${payload.subarray(8).toString('latin1')}`.trimEnd();
}

function windowUpdate(stream: number, by: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(by, 0);
  return frameOf({ type: WINDOW_UPDATE, flags: 0, stream, payload });
}
