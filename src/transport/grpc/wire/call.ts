/**
 * The state of one call.
 *
 * ```
 *   open ── reply / finish ──────> ended      (a status was sent)
 *     └──── deadline, peer gone ──> ended      (nothing can be sent)
 * ```
 *
 * It ends exactly once (T1); later output is dropped. The signal of the call aborts at every end, so that work below
 * stops. A writer that waits for `drained` keeps at most one chunk of its own unsent (T4).
 */
import { assert, DatabaseError } from '#base';
import type { Account, Evict, Hold } from '../../memory-budget.ts';
import type { Waiting, WorkQueue } from '../../work-queue.ts';
import type { CallStream, Room, StreamListener } from './call-stream.ts';
import { PIECE_BYTES } from './framing.ts';
import type { CallTrace, MethodMeter, MethodTraits } from './method-traits.ts';
import { Output } from './output.ts';
import type { Packer } from './packing.ts';
import type { WireParts } from './parts.ts';
import type { Place } from './shares.ts';
import { type CallStatus, type Fields, type GrpcStatusName, OK } from './status.ts';

export interface SharedParts extends WireParts {
  readonly slices: WorkQueue;
  /** Undefined: replies are not compressed. */
  readonly packer: Packer | undefined;
  readonly onEnded: (call: Call) => void;
}

/** A unary reply up to this size is small: it uses the budget for small replies while that has room. */
const SMALL_REPLY_BYTES = 64 * 1024;

/** A reply in its frame, and its pieces when another node has sent it, or its compressed copy. */
const COPIES = 2;

export interface ReplyParts {
  readonly headers?: Fields | undefined;
  readonly trailers?: Fields | undefined;
  /** The reply repeats the result of an earlier commit. So it may be refused; the client can ask again. */
  readonly isRepeat?: boolean;
}

const NOTHING = (): void => undefined;

const UNCOUNTED: Room = { release: NOTHING };

export class Call implements StreamListener {
  readonly method: MethodTraits;
  readonly peer: CallStream;
  /** For the server, as the next two: its number in the table once it is accepted. */
  number: number | undefined;
  /** Undefined: it needs none, or has none yet. */
  place: Place | undefined;
  /** Undefined when it was begun. */
  waiting: Waiting | undefined;
  /** Undefined: it is not traced. */
  trace: CallTrace | undefined;
  readonly #output: Output;
  readonly #meter: MethodMeter;
  readonly #shared: SharedParts;
  readonly #startedAt = performance.now();
  #begun = false;
  #ended = false;
  /** Bytes of its one message for which there is room. */
  #roomBytes = 0;
  readonly #replyRooms: Room[] = [];
  /** Holds among them that can be evicted when the reader makes no progress. */
  readonly #watched: Hold[] = [];
  /** Reserved for a reply that must be sent, until there is one. */
  #expected: Room | undefined;
  #abort: AbortController | undefined;
  /** True when OK follows the last write. */
  #isComplete = false;
  /** Chunks that the connection has not accepted yet. */
  #unsent = 0;
  #onDrained: (() => void) | undefined;

  constructor(method: MethodTraits, meter: MethodMeter, peer: CallStream, shared: SharedParts) {
    this.method = method;
    this.#output = new Output(peer.stream);
    this.#meter = meter;
    this.peer = peer;
    this.#shared = shared;
    meter.started();
    if (method.kind !== 'bidi_stream') meter.received();
    peer.call = this;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** True when something was sent to the client, or is about to be. */
  get answered(): boolean {
    return this.#begun || this.#ended;
  }

  /** The bytes of the request. */
  get message(): Uint8Array {
    return this.peer.request;
  }

  /** Counts a message of a stream of requests. */
  received(): void {
    this.#meter.received();
  }

  /** Compression of messages to this client; undefined: none. */
  get encoding(): string | undefined {
    return this.#shared.packer?.encodingFor(this.peer.headers.known['grpc-accept-encoding']);
  }

  /** Time until its deadline; undefined when it has none. */
  get leftMs(): number | undefined {
    const { deadlineMs } = this.peer;
    return Number.isFinite(deadlineMs) ? deadlineMs - Date.now() : undefined;
  }

  /** True when its deadline has passed, even if its timer has not fired yet. */
  get isLate(): boolean {
    return this.peer.deadlineMs <= Date.now();
  }

  /** Aborts when the call ends, with the reason as a `DatabaseError`. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#ended) this.#abort.abort(callEnded('CANCELLED'));
    }
    return this.#abort.signal;
  }

  /** The first value of a text header; names are lowercase. */
  header(name: string): string | undefined {
    return this.peer.headers.text(name);
  }

  /**
   * Reserves room for the reply to a request of this size before an effect that must be answered. Such a reply names
   * the contents of the request, and is about as long. False: there is no room.
   */
  expectReply(requestBytes: number): boolean {
    const bytes = COPIES * Math.min(requestBytes, SMALL_REPLY_BYTES);
    this.#expected = this.#share(bytes) ?? this.account().tryTake(bytes, NOTHING);
    return this.#expected !== undefined;
  }

  /**
   * Sends the one framed message of a unary call and ends it with OK. When there is no room for it, it sends that
   * status instead. Where this would deny a commit, the message is sent anyway, or the call is cut off. Compression
   * takes a moment, in which the call may still end otherwise.
   */
  reply(framed: Uint8Array, parts: ReplyParts = {}): void {
    if (this.#ended || !this.reserve(framed.length, parts)) return;
    const packing = this.pack(framed);
    if (packing === undefined) this.#send(framed, parts);
    else void this.#sendPacked(packing, framed, parts);
  }

  async #sendPacked(packing: Promise<Uint8Array | undefined>, framed: Uint8Array, parts: ReplyParts): Promise<void> {
    this.#begun = true;
    // A thread holds the bytes until it has finished, even if the call ends.
    const rooms = this.#replyRooms;
    for (const room of rooms) this.peer.withhold(room);
    const packed = await packing;
    // The timer of a passed deadline answers, if it has not yet.
    if (this.#ended || this.isLate) {
      for (const room of rooms) room.release();
      return;
    }
    for (const room of rooms) this.keep(room);
    if (packed === undefined) this.#send(framed, parts);
    else this.#send(packed, parts, this.encoding);
  }

  /** Calls `Packer`; undefined for a client that does not accept the encoding. */
  pack(frames: Uint8Array): Promise<Uint8Array | undefined> | undefined {
    return this.encoding === undefined ? undefined : this.#shared.packer?.pack(frames);
  }

  #send(framed: Uint8Array, { headers, trailers }: ReplyParts, encoding?: string): void {
    assert(this.method.kind === 'unary', 'Only a unary call is answered with one message', this.method.name);
    const holds = this.#watched;
    for (const hold of holds) {
      // A client has the whole stall timeout to read the reply to a write.
      if (this.method.mustAnswer === true) hold.watchEnd();
      else hold.watch();
    }
    const told = trailers && this.#told(trailers);
    this.#output.reply(framed, { headers, trailers: told, encoding }, (restBytes) => {
      this.peer.moved();
      for (const hold of holds) {
        if (restBytes === 0) hold.taken();
        else hold.moved();
      }
    });
    this.#meter.sent(1);
    this.#end('OK');
  }

  /** Reserves room for the one message of a reply. False: there is none, and the call has ended. */
  reserve(bytes: number, { isRepeat }: Pick<ReplyParts, 'isRepeat'> = {}): boolean {
    if (this.#ended || bytes <= this.#roomBytes) return !this.#ended;
    this.#expected?.release();
    const room = this.#roomFor(bytes - this.#roomBytes, this.method.mustAnswer === true && isRepeat !== true);
    if (room === undefined) {
      if (this.method.mustAnswer === true) this.cut();
      else this.finish(this.#shared.refusals.noRoom);
      return false;
    }
    this.#replyRooms.push(room);
    this.keep(room);
    this.#roomBytes = bytes;
    return true;
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: Fields = {}): void {
    if (this.#ended) return;
    assert(this.method.kind !== 'unary', 'Only a stream begins before its messages', this.method.name);
    this.#begun = true;
    this.#output.begin(headers, this.encoding);
  }

  /**
   * Sends framed messages after `begin`. False: wait for `drained` before the next. The hold ends when they have left;
   * each piece that leaves counts as progress of a watched hold. An array that is no Buffer belongs to the call from
   * now on, with everything that shares its memory.
   */
  write(frames: Uint8Array, count: number, hold?: Hold): boolean {
    if (this.#ended) {
      hold?.release();
      return true;
    }
    assert(this.method.kind !== 'unary', 'Only a stream is written to', this.method.name);
    this.#meter.sent(count);
    this.#unsent += 1;
    if (hold !== undefined) this.keep(hold);
    const pieceBytesMax = hold?.isWatched === true ? PIECE_BYTES : Number.POSITIVE_INFINITY;
    this.#output.write(frames, pieceBytesMax, (restBytes) => {
      if (restBytes === 0) this.#sent(hold);
      else hold?.moved();
    });
    return this.#unsent === 0;
  }

  /**
   * Sends OK right after the last write. The call stays open until `finish` or its deadline, because the unsent bytes
   * still belong to it.
   */
  complete(): void {
    if (this.#ended || this.#isComplete) return;
    this.#isComplete = true;
    this.#output.finish(OK, this.peer.hasEnded);
  }

  /** Account of its connection in the budget for unsent bytes. */
  account(): Account {
    return this.#shared.unsent.of(this.peer.connection);
  }

  /** Undefined, or a promise of the turn of its connection to read a slice of this size. */
  turn(bytes: number): Promise<void> | undefined {
    return this.#shared.slices.slice(this.peer.connection, bytes, this.signal);
  }

  /** Holds room until everything was sent, or the client has disconnected. */
  keep(room: Room): void {
    this.peer.keep(room);
  }

  /** Ends the call at once, without its unsent output: for a reader that does not read. */
  cut(): void {
    if (!this.#ended) this.#end('RESOURCE_EXHAUSTED');
    this.peer.reset();
  }

  /** Resolves when all output was sent, or the call has ended. One waiter at a time. */
  drained(): Promise<void> {
    if (this.#ended || this.#unsent === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        resolve();
      };
    });
  }

  /** Ends the call with a status, after the written messages. */
  finish(status: CallStatus): void {
    if (this.#ended) return;
    const { trailers } = status;
    const told = trailers === undefined ? status : { ...status, trailers: this.#told(trailers) };
    this.#output.finish(told, this.peer.hasEnded);
    this.#end(status.code);
  }

  #told<T extends Fields>(trailers: T): T {
    const { trailersFor } = this.#shared;
    return trailersFor === undefined ? trailers : trailersFor(this.header(':authority'), trailers);
  }

  /** Room for a reply of this length; undefined when there is none and the reply may be lost. */
  #roomFor(replyBytes: number, mustBeSent: boolean): Room | undefined {
    const bytes = COPIES * replyBytes;
    // Probes are answered also when the node is full; the bound on streams bounds these replies.
    if (this.method.isProbe === true) return UNCOUNTED;
    const evict = (): void => this.cut();
    const account = this.account();
    const hold =
      (replyBytes > SMALL_REPLY_BYTES ? undefined : this.#share(bytes, evict)) ??
      (mustBeSent ? account.takeAnyway(bytes, evict) : account.tryTake(bytes, evict));
    if (hold !== undefined) this.#watched.push(hold);
    return hold;
  }

  /** Room among the small replies. */
  #share(bytes: number, evict: Evict = NOTHING): Hold | undefined {
    return this.#shared.small.of(this.peer.connection).tryTake(bytes, evict);
  }

  #sent(hold: Hold | undefined): void {
    if (hold !== undefined) {
      hold.taken();
      this.peer.left(hold);
    }
    this.#unsent -= 1;
    if (this.#unsent === 0) this.#onDrained?.();
  }

  /** Called by the stream: its deadline has passed. */
  expired(status: CallStatus): void {
    this.#output.finish(status, this.peer.hasEnded);
    this.#cancel();
  }

  /** Called by the stream. */
  closed(): void {
    this.#output.drop();
    this.#cancel();
  }

  #cancel(): void {
    if (this.#ended) return;
    const hasLeft = this.#unsent === 0;
    if (this.#isComplete && (hasLeft || !this.isLate)) this.#end('OK');
    else this.#end(this.isLate ? 'DEADLINE_EXCEEDED' : 'CANCELLED');
  }

  #end(code: GrpcStatusName): void {
    this.#ended = true;
    this.#expected?.release();
    this.#abort?.abort(callEnded(code));
    this.#onDrained?.();
    this.peer.ended();
    this.#meter.ended(code, (performance.now() - this.#startedAt) / 1000);
    this.trace?.ended(code);
    this.#shared.onEnded(this);
  }
}

/** One for each status: creating an error with its stack for every call is expensive. */
const ENDED = new Map<GrpcStatusName, DatabaseError>();

function callEnded(code: GrpcStatusName): DatabaseError {
  const known = ENDED.get(code);
  if (known !== undefined) return known;
  const made = new DatabaseError('unavailable', `The call has ended: ${code}`);
  ENDED.set(code, made);
  return made;
}
