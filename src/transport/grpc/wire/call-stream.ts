/**
 * A call on its HTTP/2 stream: the message that arrives, and the reply or stream of messages and the status that leave.
 *
 * ```
 *   receiving ── the request has ended ──> whole ── reply / finish ──────────────────> answered
 *       │                                    └── begin ──> begun ── finish / its time ──> answered, behind what was written
 *       └──────────── its time is over ──────┴──> answered: DEADLINE_EXCEEDED
 *       └──────────── the stream has closed ─┴──> gone
 * ```
 *
 * Headers, frames and trailers are the same as those of grpc-js (ADR 0181).
 */
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { GatheredBytes } from '../../gathered-bytes.ts';
import { FrameCutter } from './frame-cutter.ts';
import { timeoutMs } from './frame-faults.ts';
import { FRAME_HEADER_BYTES, giveBackFrames, giveBackWhole, PIECE_BYTES } from './framing.ts';
import { RepeatedHeaders } from './repeated-headers.ts';
import { type CallStatus, type Fields, headersOf, OK, trailersOf } from './status.ts';

/** Receives the events of a call. */
export interface CallListener {
  /** The stream has closed, or the deadline has passed. */
  cancelled(): void;
  /** The stream has sent a reply and then received a malformed frame. */
  faulted(status: CallStatus): void;
}

/** Receives the messages of a stream of requests, and whether each is compressed. */
export interface MessageListener {
  message(message: Uint8Array, isPacked: boolean): void;
  end(): void;
}

/** Headers, trailers and encoding of a reply. */
export interface ReplyFields {
  readonly headers?: Fields | undefined;
  readonly trailers?: Fields | undefined;
  /** Compression of the message; undefined: none. */
  readonly encoding?: string | undefined;
}

/** First headers of every reply, the same as in grpc-js; `grpc-encoding` follows them. */
const REPLY_HEADERS: readonly string[] = Object.entries({
  ':status': '200',
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
}).flat();
const OK_TRAILERS: OutgoingHttpHeaders = trailersOf(OK);
const WAIT_FOR_TRAILERS = { waitForTrailers: true };

/** A piece of output, after all before it. */
interface Outgoing {
  readonly piece: Uint8Array;
  readonly left: () => void;
}

/** Headers for the gRPC server, not for the handler of the call. */
const NOT_METADATA: readonly string[] = [
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
  'accept-encoding',
  'te',
  'content-type',
];

/** Buffers up to this size are parts of Node's pool. */
const SMALL_BYTES = 4096;
const PRINTABLE = /^[\x20-\x7e]*$/;
const NO_MESSAGE = new Uint8Array(0);
const NOTHING = Buffer.alloc(0);

export class CallStream {
  /** The message; empty until it is complete. */
  request: Uint8Array = NO_MESSAGE;
  /** Called once, unless the call has been answered. */
  listener: CallListener | undefined;
  /** Absent: the request is one message. */
  messages: MessageListener | undefined;
  readonly #cutter = new FrameCutter();
  readonly repeated: RepeatedHeaders = new RepeatedHeaders();
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #expired: (timeout: string) => CallStatus;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** The first piece of the request, and all of them once there are several. */
  #first: Buffer | undefined;
  #gathered: GatheredBytes | undefined;
  #isWhole = false;
  #isAnswered = false;
  #hasBegun = false;
  /** Trailers of a stream of messages. */
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;
  /** Pieces that node:http2 does not have yet; the previous one is being sent. */
  #outgoing: Outgoing[] = [];
  #isLeaving = false;

  /** `expired` returns the status at the deadline, by the sent `grpc-timeout`. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, expired: (timeout: string) => CallStatus) {
    this.#stream = stream;
    this.#headers = headers;
    this.#expired = expired;
    const leftMs = timeoutMs(headers);
    if (leftMs === undefined) return;
    this.#deadlineMs = Date.now() + leftMs;
    this.#timer = setTimeout(() => this.#expire(), leftMs);
  }

  get path(): string {
    return this.#headers[':path'] ?? '';
  }

  /** The headers that it was opened with, as an identity of the call. */
  get opening(): object {
    return this.#headers;
  }

  /** Undefined when it has closed. */
  get session(): Http2Session | undefined {
    return this.#stream.session;
  }

  /** Infinity: none. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** True when a status or a reply was sent. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Everything that the client sent with it. */
  get metadata(): Fields {
    return Object.fromEntries(
      Object.entries(this.#headers).filter(
        ([name, value]) => !name.startsWith(':') && !NOT_METADATA.includes(name) && PRINTABLE.test(String(value)),
      ),
    );
  }

  /** A text header, by its lowercase name. */
  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === 'string' && PRINTABLE.test(value) ? value : undefined;
  }

  /** The next bytes of the request. */
  take(piece: Buffer): void {
    if (this.messages !== undefined) return this.#pass(piece, this.messages);
    if (this.#first === undefined) {
      this.#first = piece;
      return;
    }
    this.#gathered ??= this.#begun(this.#first);
    this.#gathered.add(piece);
  }

  /** Gathers the bytes so far, with memory for the length that the frame announces. */
  #begun(first: Buffer): GatheredBytes {
    const gathered = new GatheredBytes(
      first.length < FRAME_HEADER_BYTES ? 0 : FRAME_HEADER_BYTES + first.readUInt32BE(1),
    );
    gathered.add(first);
    return gathered;
  }

  #pass(piece: Buffer, messages: MessageListener): void {
    const cut = this.#cutter.add(piece);
    if (cut === undefined) return;
    for (let rest = cut.frames; rest.length > 0; ) {
      const end = FRAME_HEADER_BYTES + rest.readUInt32BE(1);
      messages.message(rest.subarray(FRAME_HEADER_BYTES, end), rest[0] === 1);
      rest = rest.subarray(end);
    }
  }

  /** Drops the bytes of the request that have arrived. */
  drop(): void {
    this.#first = undefined;
    this.#gathered = undefined;
  }

  /** The request has ended. */
  whole(): void {
    this.#isWhole = true;
    if (this.messages !== undefined) return this.messages.end();
    const first = this.#first ?? NOTHING;
    const frame = this.#gathered?.take() ?? (isAlone(first) ? first : Buffer.from(first));
    this.drop();
    this.request = frame.subarray(FRAME_HEADER_BYTES);
  }

  /**
   * Sends the one message, in its frame, and OK. The caller must not use it afterwards: a large one is freed. `left` is
   * called for each sent piece, with the number of unsent bytes.
   */
  reply(framed: Uint8Array, { headers, trailers, encoding }: ReplyFields, left: (restBytes: number) => void): void {
    this.#stop();
    if (!this.#answer()) return;
    const stream = this.#stream;
    stream.respond(listOf(headers, encoding), WAIT_FOR_TRAILERS);
    const all = trailers === undefined ? OK_TRAILERS : { ...OK_TRAILERS, ...trailers };
    stream.on('wantTrailers', () => stream.sendTrailers(all));
    if (framed.length < SMALL_BYTES) stream.end(framed);
    else this.#send(framed, 0, left);
  }

  /** The next piece; given several at once, node:http2 would report only the last of them as sent. */
  #send(framed: Uint8Array, from: number, left: (restBytes: number) => void): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const to = Math.min(from + PIECE_BYTES, framed.length);
    stream.write(framed.subarray(from, to), (error) => {
      // The connection may still use the buffer of a failed write.
      if (error !== null && error !== undefined) return;
      left(framed.length - to);
      if (to < framed.length) this.#send(framed, to, left);
      else giveBackFrames(framed);
    });
    if (to === framed.length) stream.end();
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: Fields, encoding: string | undefined): void {
    const stream = this.#stream;
    if (this.#isAnswered || stream.destroyed || stream.closed) return;
    this.#hasBegun = true;
    stream.respond(listOf(headers, encoding), WAIT_FOR_TRAILERS);
    stream.on('wantTrailers', () => stream.sendTrailers(this.#trailers));
  }

  /**
   * Sends framed messages after the previous ones, in pieces of bounded size, each after the last one was sent. `left`
   * is called for each piece that the socket has accepted, with the number of remaining bytes. The caller must not use
   * the frames or their memory afterwards: it is freed.
   */
  write(frames: Uint8Array, pieceBytesMax: number, left: (restBytes: number) => void): void {
    const count = Math.max(1, Math.ceil(frames.length / pieceBytesMax));
    const bytes = Math.ceil(frames.length / count);
    for (let from = 0, rest = count; rest > 0; from += bytes, rest--) {
      const piece = count === 1 ? frames : frames.subarray(from, from + bytes);
      const restBytes = Math.max(0, frames.length - from - bytes);
      const whole = rest === 1 ? frames : undefined;
      this.#outgoing.push({
        piece,
        left: () => {
          if (whole !== undefined) giveBackWhole(whole);
          left(restBytes);
        },
      });
    }
    if (!this.#isLeaving) this.#leave();
  }

  /** Hands over the next piece, or the end after the last one of an answered call. */
  #leave(): void {
    const stream = this.#stream;
    const next = this.#outgoing.shift();
    this.#isLeaving = next !== undefined;
    if (stream.destroyed || stream.closed) return;
    if (next === undefined) {
      if (this.#isAnswered) stream.end();
      return;
    }
    stream.write(next.piece, (error) => {
      // The connection may still use the buffer of a failed write.
      if (error !== null && error !== undefined) return;
      next.left();
      this.#leave();
    });
    // Together with the last piece, so that it is sent at once.
    if (this.#isAnswered && this.#outgoing.length === 0) stream.end();
  }

  /** Sends a status, after the messages of a stream. */
  finish(status: CallStatus): void {
    this.#stop();
    this.#say(status);
  }

  /** Sends OK after the messages. The deadline still applies: it may pass before they were sent. */
  complete(): void {
    this.#say(OK);
  }

  #say(status: CallStatus): void {
    if (!this.#answer()) return;
    if (!this.#hasBegun) {
      this.#stream.respond(headersOf(status), { endStream: true });
      // The rest of a request is discarded without being read (RFC 9113, 8.1).
      if (!this.#isWhole) this.#stream.close(constants.NGHTTP2_NO_ERROR);
      return;
    }
    this.#trailers = trailersOf(status);
    if (this.#outgoing.length === 0) this.#stream.end();
  }

  /** The stream has closed. */
  closed(): void {
    this.drop();
    this.#outgoing = [];
    this.#cancel();
  }

  /** Returns whether an answer can still be sent, and marks the call as answered. */
  #answer(): boolean {
    if (this.#isAnswered || this.#stream.destroyed || this.#stream.closed) return false;
    this.#isAnswered = true;
    return true;
  }

  #expire(): void {
    // Timers and the clock may differ.
    this.#deadlineMs = Math.min(this.#deadlineMs, Date.now());
    this.finish(this.#expired(String(this.#headers['grpc-timeout'])));
    this.drop();
    this.#cancel();
  }

  #cancel(): void {
    this.#stop();
    const { listener } = this;
    this.listener = undefined;
    listener?.cancelled();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Names and values alternating, which is cheaper for node:http2 than an object. */
function listOf(headers: Fields | undefined, encoding: string = 'identity'): readonly string[] {
  const list = [...REPLY_HEADERS, 'grpc-encoding', encoding];
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') list.push(name, value);
    else for (const each of value ?? []) list.push(name, each);
  }
  return list;
}

/** Returns whether it pins little other memory. A large message has its own buffer, which is released (ADR 0017). */
function isAlone({ length, buffer }: Buffer): boolean {
  return length < SMALL_BYTES || length === buffer.byteLength;
}
