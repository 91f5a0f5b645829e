/**
 * The stream of HTTP/2 of one call: its request as it arrives, its deadline, and the memory that is reserved for it. A
 * client that sends its request too slowly, or reads too slowly after the call has ended, has its stream reset. While a
 * call runs, a client that does not read is cut off only when others need the memory (memory-budget.ts).
 *
 * ```
 *   receiving ── the handler has the message ──> handled ── the call has ended ──> ended ── the peer has it all ──> gone
 *      ├── malformed, no room, or its deadline ──> answered                          └── too slow ──> reset
 *      └── too slow ──> reset; while others need the room: answered
 * ```
 */
import type { X509Certificate } from 'node:crypto';
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { type Address, NO_BYTES } from '#base';
import type { RequestBytes } from '../../frame-floods.ts';
import type { Hold } from '../../memory-budget.ts';
import { type FrameFault, FrameReader, type FrameRules, type MessageListener, type Packing } from './frame-reader.ts';
import type { Opening, WireParts } from './parts.ts';
import { RequestHeaders, timeoutMs } from './request-headers.ts';
import { type CallStatus, headersOf } from './status.ts';
import type { ConnectionStreams } from './stream-limits.ts';

export interface MethodRule extends FrameRules {
  /** Headers of ours that it accepts. */
  readonly taken: readonly string[];
  /** A health probe is answered also when the node is full. */
  readonly isProbe: boolean;
  /** Called when the stream of messages is opened, or when the one message is complete. */
  readonly serve: (peer: CallStream) => void;
}

/**
 * Bytes that a stream holds regardless of its content: the streams of node:http2 and nghttp2, the call, headers and
 * trailers. Measured: bench/attacks.ts, ADR 0015.
 */
export const STREAM_BYTES: number = 16 * 1024;

/** A reply without messages is sent within this time, or never. */
const EMPTY_REPLY_SENT_MS = 1_000;

/** Bytes of a request up to this size are counted with the stream and need no hold of their own. */
const SMALL_REQUEST_BYTES = 16 * 1024;

export interface Room {
  /** Does nothing after the first call. */
  release(): void;
}

/**
 * Copies a piece smaller than half of the buffer that it was read into: 64 KiB, with the requests of many others in it.
 * The pieces of a request stay in memory until the request is complete.
 */
function slim(piece: Buffer): Buffer {
  return 2 * piece.length < piece.buffer.byteLength ? Buffer.from(piece) : piece;
}

const IGNORE = (): void => undefined;
/** A closed stream takes nothing. */
const ENDED = (): boolean => false;

export interface PeerConnection {
  readonly streams: ConnectionStreams;
  readonly requests: RequestBytes;
  /** Ends the connection, which has brought too many small pieces. */
  readonly onCrumbs: () => void;
}

export interface CallStreamParts {
  readonly rule: MethodRule;
  readonly connection: PeerConnection;
  /** Bytes of the open stream; undefined: they are not counted. */
  readonly open: Hold | undefined;
}

export interface StreamListener {
  closed(): void;
  expired(status: CallStatus): void;
  /** Ends the call: after its first reply a malformed frame has arrived. */
  finish(status: CallStatus): void;
}

export interface StreamedMessages extends MessageListener {
  end(): void;
}

export class CallStream implements Opening, MessageListener {
  readonly stream: ServerHttp2Stream;
  readonly headers: RequestHeaders;
  readonly messageBytesMax: number;
  /** The message; empty until it is complete, and after the call. */
  request: Uint8Array = NO_BYTES;
  /** Absent: the request is one message. */
  messages: StreamedMessages | undefined;
  /** Undefined until the call begins. */
  call: StreamListener | undefined;
  /** True when the request has ended. */
  hasEnded = false;
  /** Infinity: none. */
  deadlineMs: number = Number.POSITIVE_INFINITY;
  readonly #server: WireParts;
  readonly #parts: CallStreamParts;
  /** Memory that is released with the stream. */
  readonly #unsent: Room[] = [];
  readonly #frames: FrameReader;
  #isPacked = false;
  #isAwaited = true;
  #request: Hold | undefined;
  #received = 0;
  #pieces = 0;
  /** Deadline of the current phase; Infinity while a handler works. */
  #dueMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** The headers have no fault. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, server: WireParts, parts: CallStreamParts) {
    const { rule } = parts;
    this.stream = stream;
    this.headers = new RequestHeaders(headers);
    this.messageBytesMax = rule.bytesMax;
    this.#server = server;
    this.#parts = parts;
    this.#frames = new FrameReader(rule, this.headers.encoding, this);
    parts.open?.watch();
    this.#dueMs = performance.now() + server.limits.receiveMs;
    const leftMs = timeoutMs(headers);
    if (leftMs !== undefined) {
      this.deadlineMs = Date.now() + leftMs;
      this.#timer = setTimeout(() => this.#expire(), leftMs);
    }
    this.#read();
  }

  /** Compression of its message; undefined: none. */
  get packing(): Packing | undefined {
    return this.#isPacked ? this.headers.packing : undefined;
  }

  /**
   * Answers and closes the stream. After the first reply the call ends with the status instead. The rest is not read:
   * a client that still sends receives RST_STREAM with NO_ERROR (RFC 9113, 8.1).
   */
  refuse(fault: FrameFault): void {
    if (this.isGone) return;
    if (this.stream.headersSent) {
      this.call?.finish(this.#answerTo(fault));
      return;
    }
    const headers = headersOf(this.#answerTo(fault));
    if (fault.isForeign === true) headers[':status'] = constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE;
    this.#close(headers);
  }

  #answerTo(fault: FrameFault): CallStatus {
    const { onRefused, refusals } = this.#server;
    onRefused(fault.code === 'too_large' ? 'too_large' : 'malformed');
    return refusals.malformed(fault);
  }

  /** Answers and closes a stream of which nothing was read. */
  answer(status: CallStatus): void {
    if (!this.isGone) this.#close(headersOf(status));
  }

  /** Answers and closes a stream whose message is incomplete, so no handler has it. */
  answerEarly(status: CallStatus): void {
    if (!this.hasEnded) this.answer(status);
  }

  /**
   * Reserves memory for the message of the handler, which is assembled in memory of its own and may be longer than its
   * compressed bytes. False: there is no room for it. A stream of messages bounds its handler by other means.
   */
  deliver(messageBytes: number): boolean {
    if (this.messages !== undefined) return true;
    this.#dueMs = Number.POSITIVE_INFINITY;
    return this.#count(this.#received + messageBytes);
  }

  /** True when nothing can be sent on it any more: it was reset, or its connection is lost. */
  get isGone(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  /** Streams of one connection have the same object. */
  get connection(): object {
    return this.stream.session ?? this.stream;
  }

  get client(): Address | undefined {
    const { remoteAddress: host, remotePort: port } = this.stream.session?.socket ?? {};
    return host === undefined || port === undefined ? undefined : { host, port };
  }

  get certificate(): X509Certificate | undefined {
    return certificateOf(this.stream.session);
  }

  /** Sets the number of calls of its connection that may last; `raised`: the stream limit for them. */
  lasting(calls: number, raised: number): void {
    this.#parts.connection.streams.lasting(calls, raised);
  }

  /** A part of its reply was sent. */
  moved(): void {
    this.#parts.open?.moved();
  }

  /** Holds room until `left` or the end of the stream. */
  keep(room: Room): void {
    if (this.stream.closed) room.release();
    else this.#unsent.push(room);
  }

  left(room: Room): void {
    this.withhold(room);
    room.release();
  }

  /** From now on the caller releases the room, until it calls `keep` again. */
  withhold(room: Room): void {
    const place = this.#unsent.indexOf(room);
    if (place >= 0) this.#unsent.splice(place, 1);
  }

  /** The call has ended and its message was dropped: its reply should be sent soon. */
  ended(): void {
    this.request = NO_BYTES;
    clearTimeout(this.#timer);
    this.#request?.release();
    this.#parts.open?.watch();
    this.#dueMs = performance.now() + this.#server.limits.lingerMs;
  }

  /** Resets the stream, which gRPC clients report as RESOURCE_EXHAUSTED, and drops everything that is unsent. */
  reset(): void {
    this.#cut(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#release();
  }

  /** For the registry: releases all that is held for it. */
  closed(): void {
    this.#awaitNoMore();
    this.#release();
    this.#parts.open?.release();
    clearTimeout(this.#timer);
    this.#frames.drop();
    this.call?.closed();
    this.stream.push = ENDED;
  }

  /**
   * Ends the stream because others need its room. Its call receives an answer if it has none yet: its message is
   * incomplete then, so nothing was tried.
   */
  evict(): void {
    this.#server.onRefused('overload');
    if (this.isGone || this.stream.headersSent) this.reset();
    else this.#close(headersOf(this.#server.refusals.noRoom));
  }

  /** For the registry. */
  endIfLate(nowMs: number): void {
    if (nowMs > this.#dueMs) this.#cut(constants.NGHTTP2_CANCEL);
  }

  /**
   * Takes the bytes that node:http2 pushes at once. They go through the stream only when it has another listener: its
   * buffer, ticks and events cost as much as the rest of reading.
   */
  #read(): void {
    const { stream } = this;
    // A stream with an error closes.
    stream.on('error', IGNORE);
    stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (!Buffer.isBuffer(chunk)) {
        if (chunk === null) this.#end();
        return Readable.prototype.push.call(stream, chunk, encoding);
      }
      const piece = slim(chunk);
      this.#receive(piece);
      return stream.listenerCount('data') === 0 || Readable.prototype.push.call(stream, piece);
    };
    // From now on node:http2 reads it.
    stream.read(0);
  }

  /** Answers without a message, stops reading, and drops the bytes that have arrived. */
  #close(headers: OutgoingHttpHeaders): void {
    this.stream.respond(headers, { endStream: true });
    this.stream.close(constants.NGHTTP2_NO_ERROR);
    this.#frames.drop();
    this.#request?.release();
    this.#awaitNoMore();
    this.ended();
    this.#dueMs = performance.now() + Math.min(EMPTY_REPLY_SENT_MS, this.#server.limits.lingerMs);
  }

  /** Called by the reader of its frames. */
  take(message: Uint8Array, isPacked: boolean): void {
    if (this.messages !== undefined) return this.messages.take(message, isPacked);
    this.request = message;
    this.#isPacked = isPacked;
  }

  /** The request ends; when the stream is closed, for another reason. */
  #end(): void {
    if (this.hasEnded || !this.#isWhole()) return;
    this.hasEnded = true;
    if (this.messages === undefined) this.#parts.rule.serve(this);
    else this.messages.end();
  }

  #expire(): void {
    // Timers and the clock may differ.
    this.deadlineMs = Math.min(this.deadlineMs, Date.now());
    const status = this.#server.refusals.expired(String(this.headers.known['grpc-timeout']));
    if (this.call === undefined) this.answer(status);
    else this.call.expired(status);
  }

  /** Counts the next piece of the request, and reads it if there is room for it. */
  #receive(piece: Buffer): void {
    const { streams, requests, onCrumbs } = this.#parts.connection;
    requests.count += piece.length;
    if (this.stream.closed) return;
    this.#received += piece.length;
    this.#pieces += 1;
    if (!streams.takes(piece.length, this.#pieces)) onCrumbs();
    else if (this.#count(this.#received)) this.#isNone(this.#frames.take(piece));
    else this.evict();
  }

  #isWhole(): boolean {
    this.#awaitNoMore();
    this.#request?.taken();
    this.#request?.pin();
    this.#parts.open?.pin();
    return !this.stream.closed && this.#isNone(this.#frames.end());
  }

  #awaitNoMore(): void {
    if (this.#isAwaited) this.#parts.connection.streams.cameWhole();
    this.#isAwaited = false;
  }

  #isNone(fault: FrameFault | undefined): boolean {
    if (fault !== undefined) this.refuse(fault);
    return fault === undefined;
  }

  /**
   * Drops unsent bytes as well. A closed stream keeps them until the socket has sent the reset; when the connection is
   * lost before that, Node 24 sends them as empty frames endlessly.
   */
  #cut(code: number): void {
    this.stream.close(code);
    this.stream.destroy();
  }

  #release(): void {
    this.#request?.release();
    for (const room of this.#unsent.splice(0)) room.release();
  }

  /** Reserves so many bytes for the request. False: there is no room for them. */
  #count(bytes: number): boolean {
    if (this.stream.closed) return true;
    if (this.#request !== undefined) return this.#request.tryGrow(bytes);
    const { open } = this.#parts;
    if (bytes <= SMALL_REQUEST_BYTES) return open === undefined || open.tryGrow(STREAM_BYTES + bytes);
    this.#request = this.#server.requests.of(this.connection).tryTake(bytes, () => this.evict());
    this.#request?.watch();
    // From now on the request shows whether its client makes progress.
    open?.pin();
    return this.#request !== undefined;
  }
}

const certificates = new WeakMap<Http2Session, X509Certificate | 'none'>();

/**
 * The certificate that the client of a connection presented: the same object for all of its calls. Undefined: it
 * presented none, or there is no TLS.
 */
function certificateOf(session: Http2Session | undefined): X509Certificate | undefined {
  if (session === undefined || session.destroyed) return undefined;
  const found = certificates.get(session) ?? readCertificate(session) ?? 'none';
  certificates.set(session, found);
  return found === 'none' ? undefined : found;
}

function readCertificate({ socket }: Http2Session): X509Certificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}
