/**
 * The HTTP/2 streams underneath the calls. Those of unary methods are read here, and grpc-js does not get them (ADR
 * 0056); of the others it is seen here what grpc-js does not say: how much of a message has arrived, when the last byte
 * of a reply has left, and how to end a stream whose reader never takes it.
 *
 * ```
 *   receiving ── the handler has the message ──> handled ── the call has ended ──> ended ── the peer has it all ──> gone
 *      ├── too slow, or no room for it ──> reset                                    └── too slow ──> reset
 *      └── malformed ──> answered
 * ```
 *
 * They come by Node's diagnostics channel of created streams (ADR 0015). Each is marked with a header of its own,
 * by which it is kept from grpc-js, or found by its call in its metadata (T8).
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { assert, Slots } from '#base';
import type { Allowance, Claim } from '../../allowance.ts';
import type { ByteBudget, Hold } from '../../byte-budget.ts';
import { type FrameFault, headFault, isPacking, type Packing } from './frame-faults.ts';
import { type FrameRules, FrameWalk } from './frame-walk.ts';
import { type CallStatus, headersOf } from './status.ts';
import type { StreamLimits } from './stream-limits.ts';
import { UnaryStream } from './unary-stream.ts';

export interface PeerStreamsOptions {
  /** What requests may hold while they arrive and are worked on. */
  readonly requests: ByteBudget;
  /** What streams may hold by standing open, and of their requests the first bytes. */
  readonly standing: Allowance;
  /** Streams at a time, those included that still carry a reply away. */
  readonly streamsMax: number;
  /** A message that has not arrived by then is given up. */
  readonly receiveMs: number;
  /** A reply that has not been taken so long after its end is given up. */
  readonly lingerMs: number;
  /** The methods that are served: unary ones, and how many messages each of the others takes, which are grpc-js's. */
  readonly methods: ReadonlyMap<string, 'unary' | 'one' | 'many'>;
  /** The request for a unary method has arrived. */
  readonly onRequest: (request: UnaryStream, peer: PeerStream) => void;
  /** Whether a path asks how the node is, which must be found out also while it is full. */
  readonly isProbe: (path: string) => boolean;
  /** Longest message, as it is sent. */
  readonly messageBytesMax: number;
  /** How many streams a connection may have. */
  readonly perConnection: StreamLimits;
  /** Told of every stream that is refused or reset for want of room. */
  readonly onRefused: () => void;
  /** Told before a connection ends because of what its client sends. */
  readonly onEnded: (why: EndReason, session: Http2Session) => void;
  /** For a unary call whose time is over, by its `grpc-timeout`. */
  readonly expired: (timeout: string) => CallStatus;
  /** The answer to a request that is malformed before its message is looked at. */
  readonly answerTo: (fault: FrameFault) => CallStatus;
}

/** `flood`: more streams than were allowed; `protocol`: what is no HTTP/2. */
export type EndReason = 'flood' | 'protocol';

/** The header that carries the mark; whatever a client sends under this name is written over. */
const MARK = 'x-cairn-stream';
/** The mark of streams that grpc-js does not get. */
const KEPT = '';

const CREATED = 'http2.server.stream.created';

/**
 * What a stream holds from its beginning to its end, whatever it carries: the streams of node:http2 and nghttp2, the
 * call of grpc-js and ours, their headers and trailers. Measured: bench/unread-replies.ts, ADR 0053.
 */
export const STREAM_BYTES: number = 16 * 1024;

/** Of a request up to this size, what arrives is counted with the stream and needs no hold of its own. */
const SMALL_REQUEST_BYTES = 16 * 1024;

/** Probes at a time that need no room. */
const FREE_PROBES_MAX = 100;

const SWEEP_EVERY_MS = 1_000;

export class PeerStreams {
  readonly #options: PeerStreamsOptions;
  readonly #streams = new Slots<PeerStream>();
  readonly #sessions = new WeakSet<Http2Session>();
  readonly #onCreated = (message: unknown): void => this.#created(message);
  readonly #sweeping: NodeJS.Timeout;
  /** Streams of other servers of the process are none of this one's. */
  #port: number | undefined;
  #freeProbes = 0;

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

  /** Ends every connection that has a stream. */
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
    if (session === undefined || !this.#isOurs(session)) return;
    if (!this.#isAllowed(stream, session)) {
      this.#refuse(stream, headers);
      return;
    }
    const path = headers[':path'] ?? '';
    const isFree = this.#freeProbes < FREE_PROBES_MAX && this.#options.isProbe(path);
    const claim = isFree ? undefined : this.#options.standing.of(session);
    if (this.#streams.size >= this.#options.streamsMax || claim?.tryAdd(STREAM_BYTES) === false) {
      this.#refuse(stream, headers);
      return;
    }
    if (isFree) this.#freeProbes += 1;
    const peer = this.#peerOf(stream, headers, claim);
    const mark = this.#streams.add(peer);
    headers[MARK] = peer.isOwn ? KEPT : String(mark);
    stream.on('close', () => {
      this.#streams.remove(mark);
      if (isFree) this.#freeProbes -= 1;
      peer.closed();
    });
  }

  /** Whether its connection may have it; ends that of a client that does not stop to open what is refused. */
  #isAllowed(stream: ServerHttp2Stream, session: Http2Session): boolean {
    const { perConnection, onEnded } = this.#options;
    const verdict = perConnection.opened(session);
    if (verdict === 'taken') {
      stream.once('close', () => {
        perConnection.closed(session, { isCancelled: stream.rstCode !== constants.NGHTTP2_NO_ERROR });
      });
      return true;
    }
    if (verdict === 'flood' && !session.destroyed) {
      onEnded('flood', session);
      session.destroy(new Error('More streams than were allowed'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
    return false;
  }

  /** It was not tried, and clients may try it again. */
  #refuse(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.#options.onRefused();
    headers[MARK] = KEPT;
    stream.on('error', IGNORE);
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    // What node:http2 holds for it would else be there until V8 collects its heap. It tells of what has happened by an
    // error, of which the stack would cost as much as all the rest.
    stream.destroy(REFUSED);
  }

  /** Whether it is of a connection to our port. */
  #isOurs(session: Http2Session): boolean {
    if (this.#sessions.has(session)) return true;
    if (session.socket.localPort !== this.#port) return false;
    this.#sessions.add(session);
    session.once('error', (error: unknown) => {
      if (isOfProtocol(error)) this.#options.onEnded('protocol', session);
    });
    this.#divert(session);
    return true;
  }

  /** Of what node:http2 hands on, grpc-js gets the streams that are not kept from it. */
  #divert(session: Http2Session): void {
    const [handOn, ...others] = session.listeners('stream');
    assert(handOn !== undefined && others.length === 0, 'Streams are handed on by one listener', others.length);
    session.removeAllListeners('stream');
    session.on('stream', (stream: unknown, headers: IncomingHttpHeaders, flags: unknown, raw: unknown) => {
      if (headers[MARK] === KEPT) delete headers[MARK];
      else Reflect.apply(handOn, session, [stream, headers, flags, raw]);
    });
  }

  /** What is wrong with the headers is answered now. */
  #peerOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, claim: Claim | undefined): PeerStream {
    const { methods, messageBytesMax: bytesMax, expired } = this.#options;
    const path = headers[':path'] ?? '';
    const messages = methods.get(path);
    const fault = headFault(headers) ?? (messages === undefined ? { kind: 'path', value: path } : undefined);
    const encoding = headers['grpc-encoding'];
    const rules = {
      isStream: messages === 'many',
      encoding: typeof encoding === 'string' ? encoding : undefined,
      bytesMax,
    };
    const own = messages === 'unary' || fault !== undefined ? new UnaryStream(stream, headers, expired) : undefined;
    const peer = new PeerStream(stream, this.#options, { rules, claim, own });
    // Of the others grpc-js unpacks the messages.
    if (messages === 'one') delete headers['grpc-encoding'];
    if (fault !== undefined) peer.refuse(fault);
    return peer;
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const peer of this.#streams.values()) peer.endIfLate(nowMs);
  }
}

/** Room that is kept for something. */
export interface Room {
  /** Once, however often it is called. */
  release(): void;
}

/** What nghttp2 has found wrong; other errors are the socket's, or those of our own cuts. */
function isOfProtocol(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_HTTP2_ERROR';
}

interface Creation {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
}

function isCreation(message: unknown): message is Creation {
  return typeof message === 'object' && message !== null && 'stream' in message && 'headers' in message;
}

/**
 * For `push` of a stream: what came of a request is kept until there is all of it, by grpc-js as long as the stream. A
 * piece of it keeps the buffer that it was read from the socket into, of 64 KiB and with the requests of many others in
 * it. What is less than half of its buffer is copied.
 */
function pushSlim(this: Readable, chunk: unknown, encoding?: BufferEncoding): boolean {
  return Readable.prototype.push.call(this, Buffer.isBuffer(chunk) ? slim(chunk) : chunk, encoding);
}

function slim(piece: Buffer): Buffer {
  return 2 * piece.length < piece.buffer.byteLength ? Buffer.from(piece) : piece;
}

const IGNORE = (): void => undefined;

const REFUSED = new Error('The stream was refused');

interface PeerStreamParts {
  readonly rules: FrameRules;
  readonly claim: Claim | undefined;
  /** Absent: grpc-js has the stream, too. */
  readonly own: UnaryStream | undefined;
}

/** One stream. */
export class PeerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #options: PeerStreamsOptions;
  /** What is held for it until it is gone. */
  readonly #unsent: Room[] = [];
  readonly #frames: FrameWalk;
  readonly #encoding: string | undefined;
  /** Of its connection, for what it holds beside the budgets; absent: that is not counted. */
  readonly #claim: Claim | undefined;
  /** What it has of the claim. */
  #claimed: number;
  readonly #own: UnaryStream | undefined;
  #request: Hold | undefined;
  #received = 0;
  #hasEnded = false;
  /** When it must be over; Infinity while a handler works. */
  #dueMs: number;

  constructor(stream: ServerHttp2Stream, options: PeerStreamsOptions, { rules, claim, own }: PeerStreamParts) {
    this.#stream = stream;
    this.#options = options;
    this.#frames = new FrameWalk(rules);
    this.#encoding = rules.encoding;
    this.#claim = claim;
    this.#claimed = claim === undefined ? 0 : STREAM_BYTES;
    this.#own = own;
    this.#dueMs = performance.now() + options.receiveMs;
    if (own === undefined) this.#watch();
    else this.#read(own);
  }

  /** Whether grpc-js does not have it. */
  get isOwn(): boolean {
    return this.#own !== undefined;
  }

  /** What its message must be unpacked from; undefined: it is as it was sent. */
  get packing(): Packing | undefined {
    return this.#frames.isPacked && isPacking(this.#encoding) ? this.#encoding : undefined;
  }

  /**
   * Answers and closes the stream. If grpc-js has it, whose turn is after this one, it takes it for a call that was
   * cancelled. Nothing more is read; a client that still sends is told to stop without an error (RFC 9113, 8.1).
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

  /**
   * The handler is to have the message, which may be longer than what came. It is put together in memory of its own,
   * and grpc-js keeps what came until the stream is gone. False: there is no room for it.
   */
  deliver(messageBytes: number): boolean {
    this.#dueMs = Number.POSITIVE_INFINITY;
    if (!this.#count(this.#received + messageBytes)) return false;
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

  /** The call has ended: its reply should leave soon, with which its message goes, too. */
  ended(): void {
    this.#request?.unpin();
    this.#dueMs = performance.now() + this.#options.lingerMs;
  }

  /** Ends the stream with what gRPC clients report as RESOURCE_EXHAUSTED, and lets go of everything that is unsent. */
  reset(): void {
    this.#end(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#release();
  }

  /** For the registry: its calls are cancelled, which the end of the socket alone does not do at once. */
  cutConnection(): void {
    this.#stream.session?.destroy();
  }

  /** For the registry: gives back all that is held for it. */
  closed(): void {
    this.#release();
    this.#claim?.giveBack(this.#claimed);
    this.#claimed = 0;
    this.#own?.closed();
  }

  /** For the registry. */
  endIfLate(nowMs: number): void {
    if (nowMs > this.#dueMs) this.#end(constants.NGHTTP2_CANCEL);
  }

  /** Looks at what grpc-js reads. */
  #watch(): void {
    const stream = this.#stream;
    stream.push = pushSlim;
    // Not `on`, which would make the stream flow: what comes before grpc-js listens, grpc-js would not get.
    stream.prependListener('data', (piece: Uint8Array) => this.#isFine(piece));
    stream.prependListener('end', () => this.#isWhole());
  }

  /**
   * What node:http2 pushes is taken at once, and goes through the stream only if somebody else listens to that: its
   * buffer, its ticks and its events cost as much as the rest of reading.
   */
  #read(own: UnaryStream): void {
    const stream = this.#stream;
    // Whatever is wrong with it, it closes.
    stream.on('error', IGNORE);
    stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (!Buffer.isBuffer(chunk)) {
        if (chunk === null) this.#endOf(own);
        return Readable.prototype.push.call(stream, chunk, encoding);
      }
      const piece = slim(chunk);
      if (this.#isFine(piece) && !own.isAnswered) own.take(piece);
      return stream.listenerCount('data') === 0 || Readable.prototype.push.call(stream, piece);
    };
    // From now on node:http2 reads it.
    stream.read(0);
  }

  /** Nothing more comes; when the stream is closed, for another reason. */
  #endOf(own: UnaryStream): void {
    if (this.#hasEnded || !this.#isWhole()) return;
    this.#hasEnded = true;
    if (own.isAnswered) return;
    own.whole();
    this.#options.onRequest(own, this);
  }

  /** Whether there is room for the next piece of the request, and nothing wrong with it. */
  #isFine(piece: Uint8Array): boolean {
    if (this.#stream.closed) return false;
    this.#received += piece.length;
    if (this.#count(this.#received)) return this.#isNone(this.#frames.take(piece));
    this.#giveUp();
    return false;
  }

  #isWhole(): boolean {
    return !this.#stream.closed && this.#isNone(this.#frames.end());
  }

  #isNone(fault: FrameFault | undefined): boolean {
    if (fault !== undefined) this.refuse(fault);
    return fault === undefined;
  }

  /**
   * Drops what is unsent as well. A stream that is only closed keeps it until the socket takes the reset; when the
   * connection is lost before that, Node 24 sends what is left as empty frames, one after the other for ever.
   */
  #end(code: number): void {
    this.#stream.close(code);
    this.#stream.destroy();
  }

  #release(): void {
    this.#request?.release();
    for (const room of this.#unsent.splice(0)) room.release();
  }

  /** False when there is no room for so much of the request. */
  #count(bytes: number): boolean {
    if (this.#stream.closed) return true;
    if (this.#request !== undefined) return this.#request.tryGrow(bytes);
    if (bytes <= SMALL_REQUEST_BYTES) return this.#claimed === 0 || this.#claimAll(STREAM_BYTES + bytes);
    this.#request = this.#options.requests.tryTake(bytes, () => this.#giveUp());
    return this.#request !== undefined;
  }

  #claimAll(bytes: number): boolean {
    if (this.#claim?.tryAdd(bytes - this.#claimed) === false) return false;
    this.#claimed = bytes;
    return true;
  }

  #giveUp(): void {
    this.#options.onRefused();
    this.reset();
  }
}
