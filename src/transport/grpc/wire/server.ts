/**
 * A gRPC server whose handlers see bytes.
 *
 * For: calls by path, deadlines, cancellation, bounds on what a client can hold. Handlers see the bytes of a message,
 * so that they may walk them instead of decoding them, and frame the bytes of replies, many messages in one write.
 *
 * Not here: the meaning of messages. Requests that violate the protocol are refused before a handler sees them
 * (request-headers.ts, frame-reader.ts).
 */
import { Slots } from '#base';
import { WorkQueue } from '../../work-queue.ts';
import { Call, type SharedParts } from './call.ts';
import type { CallStream, MethodRule } from './call-stream.ts';
import { Connections } from './connections.ts';
import type { Packing } from './frame-reader.ts';
import type { DuplexMethod, Method } from './method.ts';
import { type CallKind, type CallTrace, callKind, type MethodMeter, type MethodTraits } from './method-traits.ts';
import { Packer } from './packing.ts';
import type { WireParts } from './parts.ts';
import { ASKING } from './request-headers.ts';
import { RequestMessages } from './request-messages.ts';
import { Shares } from './shares.ts';
import { BUG, type CallStatus, OK } from './status.ts';
import { Unpacker } from './unpacking.ts';

export interface WireServerParts extends WireParts {
  /**
   * Some have streams of requests. Such a call lasts no longer than a request may take to arrive (T8), and its handler
   * bounds the number of calls.
   */
  readonly methods: readonly (Method | DuplexMethod)[];
  readonly meterOf: (method: MethodTraits) => MethodMeter;
  /** Begins the trace of a call; undefined: it has none. Absent: no call has. */
  readonly traceOf?: ((call: Call) => CallTrace | undefined) | undefined;
  /**
   * Returns the method that handles a call, by its credentials; absent: the method of its path. An error that it
   * throws, or rejects with, is the answer.
   */
  readonly handlerFor?: ((call: Call, method: Method) => Method | Promise<Method>) | undefined;
  /**
   * Lets another node answer after a handler has failed and sent nothing; undefined: no other node can. An error
   * that it rejects with is the answer.
   */
  readonly elsewhere?: ((call: Call, failure: unknown) => Promise<void> | undefined) | undefined;
  /** Returns the status for an error of a handler. `onBug` logs the error, and returns the status for any bug. */
  readonly statusOf: (failure: unknown, method: MethodTraits, onBug: (bug: unknown) => CallStatus) => CallStatus;
}

/** Time for a drained server to send its last answers. */
const FLUSH_MS = 500;

/** The pieces of a message and the whole message are held at once, and some room must be left for others. */
const LEFT_FOR_OTHERS_BYTES = 64 * 1024;

/** Status of a call whose connection is closed; it is only counted. */
const GONE: CallStatus = { code: 'CANCELLED', message: 'The connection of the call has gone' };

export class WireServer {
  readonly #parts: WireServerParts;
  readonly #calls = new Slots<Call>();
  readonly #shared: SharedParts;
  /** Listens, and accepts connections. */
  readonly connections: Connections;
  readonly #shares: Readonly<Record<CallKind, Shares>>;
  readonly #beginning = new WorkQueue();
  readonly #unpacker = new Unpacker();
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: WireServerParts) {
    this.#parts = parts;
    const { limits, gzipBytesMin } = parts;
    this.#shared = {
      ...parts,
      slices: new WorkQueue(),
      packer: gzipBytesMin === undefined ? undefined : new Packer(gzipBytesMin),
      onEnded: (ended) => this.#ended(ended),
    };
    const { waiting, reading } = limits.callsMax;
    this.#shares = { waiting: new Shares(waiting), reading: new Shares(reading) };
    const rules = parts.methods.map((method) => [`/${method.service}/${method.name}`, this.#ruleOf(method)] as const);
    this.connections = new Connections(parts, new Map(rules));
  }

  get callCount(): number {
    return this.#calls.size;
  }

  /**
   * Accepts no more calls, ends streams and waits (they might never end by themselves), gives the other calls
   * `graceMs`. Connections close with their last call. Resolves when every connection is closed.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const closed = this.connections.close();
    for (const call of this.#calls.values()) if (mayLast(call)) call.finish(this.#parts.refusals.draining);
    const force = (): void => this.connections.cut();
    const timers = [setTimeout(force, graceMs)];
    void this.#idle().then(() => timers.push(setTimeout(force, Math.min(FLUSH_MS, graceMs))));
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }

  /** Ends all connections at once. */
  cut(): void {
    this.#draining = true;
    this.connections.cut();
  }

  /** Resolves when no call is in flight. */
  #idle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #ended({ number, place, waiting }: Call): void {
    if (number !== undefined) this.#calls.remove(number);
    place?.release();
    waiting?.forget();
    if (this.#calls.size === 0) this.#onIdle?.();
  }

  #ruleOf(method: Method | DuplexMethod): MethodRule {
    const { limits, meterOf } = this.#parts;
    const { headers = [], isProbe = false, messageBytesMax } = method;
    // A longer message would be refused as busy, although there can never be room for it.
    const most = Math.floor(this.#parts.requests.commonBytes / 2) - LEFT_FOR_OTHERS_BYTES;
    const bytesMax = messageBytesMax === undefined ? limits.requestBytesMax : Math.min(messageBytesMax, most);
    const shared = { bytesMax, taken: [...ASKING, ...headers], isProbe };
    const meter = meterOf(method);
    return method.kind === 'bidi_stream'
      ? { ...shared, isStream: true, serve: (peer) => this.#opened(peer, method, meter) }
      : { ...shared, isStream: false, serve: (peer) => this.#arrived(peer, method, meter) };
  }

  /** A stream of requests has begun. */
  #opened(peer: CallStream, method: DuplexMethod, meter: MethodMeter): void {
    const call = new Call(method, meter, peer, this.#shared);
    if (!this.#accept(call, () => true)) return;
    const messages = new RequestMessages({ call, unpacker: this.#unpacker, bytesMax: method.streamBytesMax });
    peer.messages = messages;
    this.#run(call, () => ending(call, method.handle(call, messages)));
  }

  /** A request of one message has arrived. */
  #arrived(peer: CallStream, method: Method, meter: MethodMeter): void {
    const goOn = (hasRoom: boolean): void => {
      const call = new Call(method, meter, peer, this.#shared);
      call.trace = this.#parts.traceOf?.(call);
      const { length } = call.message;
      const takeRoom = (): boolean =>
        hasRoom && peer.deliver(length) && (method.mustAnswer !== true || call.expectReply(length));
      if (this.#accept(call, takeRoom)) this.#begin(call, () => this.#handle(method, call));
    };
    const { packing } = peer;
    if (packing === undefined) goOn(true);
    else void this.#unpack(peer, packing, goOn);
  }

  /** Continues with whether there is room for the unpacked message, unless it is refused or its client has gone. */
  async #unpack(peer: CallStream, packing: Packing, goOn: (hasRoom: boolean) => void): Promise<void> {
    const unpacked = await this.#unpacker.unpack(peer.request, packing, peer);
    if (peer.isGone || unpacked === 'gone') return;
    if (unpacked !== 'no-room') peer.request = unpacked;
    goOn(unpacked !== 'no-room');
  }

  /**
   * Accepts the call, unless it is refused at once, or its client has disconnected (T10). `takeRoom` returns whether
   * there is room for it.
   */
  #accept(call: Call, takeRoom: () => boolean): boolean {
    const refusal = call.peer.isGone ? GONE : this.#refusal(takeRoom());
    if (refusal === undefined) call.number = this.#calls.add(call);
    else call.finish(refusal);
    return refusal === undefined;
  }

  #refusal(hasRoom: boolean): CallStatus | undefined {
    const { onRefused, refusals } = this.#parts;
    if (hasRoom && !this.#draining) return undefined;
    onRefused(this.#draining ? 'draining' : 'overload');
    return this.#draining ? refusals.draining : refusals.noRoom;
  }

  /** Takes a slot for a call that may last; false: its connection has used its share, and the call has ended. */
  #hasSlot(call: Call): boolean {
    const { peer } = call;
    const { refusals, onRefused, limits } = this.#parts;
    const kind = callKind(call.method);
    if (kind === undefined) return true;
    const { connection } = peer;
    call.place = this.#shares[kind].tryTake(connection, (count) => {
      onRefused('overload');
      call.finish(refusals.displaced(kind, count));
    });
    const { waiting, reading } = this.#shares;
    if (call.place !== undefined) {
      peer.lasting(waiting.heldBy(connection) + reading.heldBy(connection), limits.lastingStreamsMax);
      return true;
    }
    onRefused('overload');
    call.finish(refusals.tooManyCalls(kind, this.#shares[kind].heldBy(connection)));
    return false;
  }

  /** Runs a handler in the turn of its connection; a probe at once. */
  #begin(call: Call, work: () => void | Promise<void>): void {
    const { peer } = call;
    if (call.method.isProbe === true) return this.#run(call, work);
    call.waiting = this.#beginning.begin(peer.connection, () => {
      call.waiting = undefined;
      if (peer.isGone) {
        call.finish(GONE);
        return;
      }
      if (call.isLate) {
        call.finish(this.#parts.refusals.late);
        return;
      }
      // Refusals also wait for their turn: otherwise they would bring as many new calls at once.
      if (this.#hasSlot(call)) this.#run(call, work);
    });
  }

  #handle(method: Method, call: Call): void | Promise<void> {
    const handler = this.#parts.handlerFor?.(call, method) ?? method;
    if (!(handler instanceof Promise)) return handled(handler, call);
    return handler.then((found) => (call.ended ? undefined : handled(found, call)));
  }

  /** Runs a handler. An error that it throws ends its call. */
  #run(call: Call, work: () => void | Promise<void>): void {
    try {
      const pending = work();
      if (pending !== undefined) void pending.catch((failure: unknown) => this.#fail(call, failure));
    } catch (failure) {
      this.#fail(call, failure);
    }
  }

  #fail(call: Call, failure: unknown): void {
    const { logger, statusOf } = this.#parts;
    const { method, trace } = call;
    const onBug = (error: unknown): CallStatus => {
      logger.error('grpc-call-failed', { method: method.name, error, ...trace?.fields });
      return BUG;
    };
    const finish = (why: unknown): void => call.finish(statusOf(why, method, onBug));
    const elsewhere = call.answered ? undefined : this.#parts.elsewhere?.(call, failure);
    if (elsewhere === undefined) finish(failure);
    else void elsewhere.catch(finish);
  }
}

function handled(method: Method, call: Call): void | Promise<void> {
  if (method.kind === 'unary') return method.handle(call, call.message);
  return ending(call, method.handle(call, call.message));
}

/** A stream that its handler has not ended ends with OK. */
function ending(call: Call, pending: Promise<void>): Promise<void> {
  return pending.then(() => call.finish(OK));
}

function mayLast({ method }: Call): boolean {
  return method.kind !== 'unary' || callKind(method) === 'waiting';
}
