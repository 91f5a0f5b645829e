/**
 * The HTTP/2 streams underneath the calls, for what grpc-js does not say: how much of a message has arrived, when the
 * last byte of a reply has left, and how to end a stream whose reader never takes it.
 *
 * ```
 *   receiving ── the handler has the message ──> handled ── the call has ended ──> ended ── the peer has it all ──> gone
 *      ├── too slow, or no room for it ──> reset                                    └── too slow ──> reset
 *      └── malformed ──> answered
 * ```
 *
 * They come by Node's diagnostics channel of created streams (docs/adr). Each is marked with a header of its own, which
 * its call finds in its metadata (T8).
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Slots } from '#base';
import type { ByteBudget, Hold } from '../../byte-budget.ts';
import { type FrameFault, headFault, isPacking, type Packing } from './frame-faults.ts';
import { type FrameRules, FrameWalk } from './frame-walk.ts';
import { type CallStatus, headersOf } from './status.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface PeerStreamsOptions {
  /** What requests may hold while they arrive and are worked on. */
  readonly requests: ByteBudget;
  /** Streams at a time, those included that still carry a reply away. */
  readonly streamsMax: number;
  /** A message that has not arrived by then is given up. */
  readonly receiveMs: number;
  /** A reply that has not been taken so long after its end is given up. */
  readonly lingerMs: number;
  /** The methods that are served, and how many messages each of them takes. */
  readonly methods: ReadonlyMap<string, 'one' | 'many'>;
  /** Longest message, as it is sent. */
  readonly messageBytesMax: number;
  /** How many streams a connection may have. */
  readonly perConnection: StreamLimits;
  /** Told of every stream that is reset for want of room. */
  readonly onRefused: () => void;
  /** The answer to a request that is malformed before its message is looked at. */
  readonly answerTo: (fault: FrameFault) => CallStatus;
}

/** The header that carries the mark; whatever a client sends under this name is written over. */
const MARK = 'x-cairn-stream';

const CREATED = 'http2.server.stream.created';

/** What a stream may hold beside the budget: a window of flow control and less. */
const UNCOUNTED_BYTES = 16 * 1024;

const SWEEP_EVERY_MS = 1_000;

export class PeerStreams {
  readonly #options: PeerStreamsOptions;
  readonly #streams = new Slots<PeerStream>();
  readonly #onCreated = (message: unknown): void => this.#created(message);
  readonly #sweeping: NodeJS.Timeout;
  /** Streams of other servers of the process are none of this one's. */
  #port: number | undefined;

  constructor(options: PeerStreamsOptions) {
    this.#options = options;
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
    subscribe(CREATED, this.#onCreated);
  }

  /** From now on the streams of connections to this port are kept. */
  listen(port: number): void {
    this.#port = port;
  }

  close(): void {
    unsubscribe(CREATED, this.#onCreated);
    clearInterval(this.#sweeping);
    this.#options.perConnection.close();
  }

  /** Ends every connection that still has a stream, with all that is on it. */
  cutConnections(): void {
    for (const peer of this.#streams.values()) peer.cutConnection();
  }

  /** The stream of a call, by its metadata. */
  of(metadata: { get(name: string): readonly unknown[] }): PeerStream | undefined {
    const [mark] = metadata.get(MARK);
    return typeof mark === 'string' ? this.#streams.get(Number(mark)) : undefined;
  }

  #created(message: unknown): void {
    if (!isCreation(message)) return;
    const { stream, headers } = message;
    const { session } = stream;
    if (session === undefined || session.socket.localPort !== this.#port) return;
    if (this.#streams.size >= this.#options.streamsMax) {
      this.#options.onRefused();
      // Not the mark of somebody else's stream.
      delete headers[MARK];
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const peer = this.#peerOf(stream, headers);
    const mark = this.#streams.add(peer);
    headers[MARK] = String(mark);
    const { perConnection } = this.#options;
    perConnection.opened(session);
    stream.once('close', () => {
      perConnection.closed(session);
      this.#streams.remove(mark);
      peer.release();
    });
  }

  /** What is wrong with the headers is answered now; grpc-js then finds a call of its own that has ended. */
  #peerOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): PeerStream {
    const { methods } = this.#options;
    const path = headers[':path'] ?? '';
    const messages = methods.get(path);
    const fault = headFault(headers) ?? (messages === undefined ? { kind: 'path', value: path } : undefined);
    const encoding = headers['grpc-encoding'];
    const peer = new PeerStream(stream, this.#options, {
      isStream: messages === 'many',
      encoding: typeof encoding === 'string' ? encoding : undefined,
      bytesMax: this.#options.messageBytesMax,
    });
    // Of the others grpc-js unpacks the messages.
    if (messages === 'one') delete headers['grpc-encoding'];
    if (fault === undefined) return peer;
    const [known] = methods.keys();
    headers[':path'] = known ?? path;
    headers['content-type'] = 'application/grpc';
    peer.refuse(fault);
    return peer;
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const peer of this.#streams.values()) peer.endIfLate(nowMs);
    this.#options.perConnection.sweep(nowMs);
  }
}

/** Room that is kept for something. */
export interface Room {
  /** Once, however often it is called. */
  release(): void;
}

interface Creation {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
}

function isCreation(message: unknown): message is Creation {
  return typeof message === 'object' && message !== null && 'stream' in message && 'headers' in message;
}

/** One stream. */
export class PeerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #options: PeerStreamsOptions;
  /** What is held for it until it is gone. */
  readonly #unsent: Room[] = [];
  readonly #frames: FrameWalk;
  readonly #encoding: string | undefined;
  #request: Hold | undefined;
  #received = 0;
  /** When it must be over; Infinity while a handler works. */
  #dueMs: number;

  constructor(stream: ServerHttp2Stream, options: PeerStreamsOptions, rules: FrameRules) {
    this.#stream = stream;
    this.#options = options;
    this.#frames = new FrameWalk(rules);
    this.#encoding = rules.encoding;
    this.#dueMs = performance.now() + options.receiveMs;
    // Not `on`, which would make the stream flow: what comes before grpc-js listens, grpc-js would not get.
    stream.prependListener('data', (piece: Uint8Array) => {
      if (stream.closed) return;
      if (!this.#count(this.#received + piece.length)) this.#giveUp();
      else this.#refuseIf(this.#frames.take(piece));
    });
    stream.prependListener('end', () => {
      if (!stream.closed) this.#refuseIf(this.#frames.end());
    });
  }

  /** What its message must be unpacked from; undefined: it is as it was sent. */
  get packing(): Packing | undefined {
    return this.#frames.isPacked && isPacking(this.#encoding) ? this.#encoding : undefined;
  }

  /**
   * Answers and closes the stream, so that grpc-js, whose turn is after this one, takes it for a call that was cancelled.
   * Nothing more is read; a client that still sends is told to stop without an error (RFC 9113, 8.1).
   */
  refuse(fault: FrameFault): void {
    if (this.#stream.closed || this.#stream.headersSent) return;
    const headers = headersOf(this.#options.answerTo(fault));
    // What is not gRPC is answered in plain HTTP, too.
    if (fault.kind === 'content-type') headers[':status'] = constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE;
    this.#stream.respond(headers, { endStream: true });
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
    this.ended();
  }

  /** The handler is to have the message, which may be longer than what came. False: there is no room for it. */
  deliver(messageBytes: number): boolean {
    this.#dueMs = Number.POSITIVE_INFINITY;
    if (messageBytes > this.#received && !this.#count(messageBytes)) return false;
    this.#request?.pin();
    return true;
  }

  /** Whether nothing can be sent on it any more: it was reset, or its connection is lost. */
  get isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /** Streams of one connection have the same one. */
  get connection(): object {
    return this.#stream.session ?? this.#stream;
  }

  /** Keeps room until `left` or the end of the stream. */
  keep(room: Room): void {
    if (this.#stream.closed) room.release();
    else this.#unsent.push(room);
  }

  left(room: Room): void {
    const place = this.#unsent.indexOf(room);
    if (place >= 0) this.#unsent.splice(place, 1);
    room.release();
  }

  /** The call has ended: its message is not needed any more, and its reply should leave soon. */
  ended(): void {
    this.#request?.release();
    this.#dueMs = performance.now() + this.#options.lingerMs;
  }

  /** Ends the stream with what gRPC clients report as RESOURCE_EXHAUSTED, and lets go of everything that is unsent. */
  reset(): void {
    this.#end(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.release();
  }

  /** For the registry. */
  cutConnection(): void {
    this.#stream.session?.destroy();
  }

  /** For the registry: gives back all that is held for it. */
  release(): void {
    this.#request?.release();
    for (const room of this.#unsent.splice(0)) room.release();
  }

  /** For the registry. */
  endIfLate(nowMs: number): void {
    if (nowMs > this.#dueMs) this.#end(constants.NGHTTP2_CANCEL);
  }

  /**
   * Drops what is unsent as well. A stream that is only closed keeps it until the socket takes the reset; when the
   * connection is lost before that, Node 24 sends what is left as empty frames, one after the other for ever.
   */
  #end(code: number): void {
    this.#stream.close(code);
    this.#stream.destroy();
  }

  /** False when there is no room for so much. */
  #count(bytes: number): boolean {
    this.#received = bytes;
    if (bytes <= UNCOUNTED_BYTES || this.#stream.closed) return true;
    if (this.#request !== undefined) return this.#request.tryGrow(bytes);
    this.#request = this.#options.requests.tryTake(bytes, () => this.#giveUp());
    return this.#request !== undefined;
  }

  #refuseIf(fault: FrameFault | undefined): void {
    if (fault !== undefined) this.refuse(fault);
  }

  #giveUp(): void {
    this.#options.onRefused();
    this.reset();
  }
}
