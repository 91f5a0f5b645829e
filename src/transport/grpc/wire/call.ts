/**
 * One call: what has arrived, what has been sent, and how it ended.
 *
 * ```
 *   open ── reply / finish ──────> ended      (a status was sent)
 *     └──── deadline, peer gone ──> ended      (grpc-js has ended it; nothing can be sent)
 * ```
 *
 * It ends exactly once (T1); whatever is sent afterwards is dropped. The signal of the call aborts at the end, however
 * it comes, so that work below stops. A writer that waits for `drained` keeps at most one chunk of its own unsent (T4).
 */
import { Metadata, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js';
import { assert, DatabaseError } from '#base';
import type { Hold } from '../../byte-budget.ts';
import type { FairBudget, Taker } from '../../fair-budget.ts';
import { OutgoingFrames } from './framing.ts';
import type { MethodMeter, MethodName } from './method-name.ts';
import type { PeerStream } from './peer-streams.ts';
import { type CallStatus, GRPC_STATUS, type GrpcStatusName } from './status.ts';

/** The call as grpc-js sees it: requests are bytes, replies are bytes in their frames. */
export type Surface =
  | {
      readonly kind: 'unary';
      readonly call: ServerUnaryCall<Uint8Array, Uint8Array>;
      readonly respond: sendUnaryData<Uint8Array>;
    }
  | { readonly kind: 'server_stream'; readonly call: ServerWritableStream<Uint8Array, OutgoingFrames> };

export interface CallParts {
  readonly surface: Surface;
  readonly method: MethodName;
  readonly meter: MethodMeter;
  /** Absent when the peer was gone before its call began. */
  readonly peer: PeerStream | undefined;
  /** Bytes of replies that have not left yet. */
  readonly unsent: FairBudget;
  /** The status for a reply that there is no room for. */
  readonly noRoom: CallStatus;
  readonly onEnded: (call: Call) => void;
}

/** Replies up to this size are not counted: the bound on streams bounds them. */
const SMALL_REPLY_BYTES = 64 * 1024;

/** A reply in its frame, and the copy of it that grpc-js makes. */
const COPIES = 2;

export class Call {
  readonly method: MethodName;
  /** For the server: where it keeps the call, once it is accepted. */
  place: number | undefined;
  readonly #surface: Surface;
  readonly #meter: MethodMeter;
  readonly #peer: PeerStream | undefined;
  readonly #parts: CallParts;
  readonly #onEnded: (call: Call) => void;
  readonly #startedAt = performance.now();
  #begun = false;
  #ended = false;
  #hasRoom = false;
  #abort: AbortController | undefined;
  /** Chunks that grpc-js has not handed to the connection yet. */
  #unsent = 0;
  #onDrained: (() => void) | undefined;

  constructor(parts: CallParts) {
    this.method = parts.method;
    this.#surface = parts.surface;
    this.#meter = parts.meter;
    this.#peer = parts.peer;
    this.#parts = parts;
    this.#onEnded = parts.onEnded;
    this.#meter.started();
    this.#meter.received();
    parts.surface.call.on('cancelled', () => this.#cancelled());
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the peer has been sent anything. */
  get answered(): boolean {
    return this.#begun || this.#ended;
  }

  /** The bytes of the request. */
  get message(): Uint8Array {
    return this.#surface.call.request;
  }

  get metadata(): Metadata {
    return this.#surface.call.metadata;
  }

  /** Until its deadline; undefined when it has none. */
  get leftMs(): number | undefined {
    const deadlineMs = this.#deadlineMs;
    return Number.isFinite(deadlineMs) ? deadlineMs - Date.now() : undefined;
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
    const [value] = this.#surface.call.metadata.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  /** Sends the one framed message of a unary call and ends it with OK. */
  reply(framed: Uint8Array, headers?: Metadata, trailers?: Metadata): void {
    if (this.#ended) return;
    assert(this.#surface.kind === 'unary', 'Only a unary call is answered with one message', this.method.name);
    if (!this.reserve(framed.length)) return;
    if (headers !== undefined) this.#surface.call.sendMetadata(headers);
    this.#surface.respond(null, framed, trailers);
    this.#meter.sent(1);
    this.#end('OK');
  }

  /** Takes the room for the one message of a reply, which has so many bytes. False: there is none, and the call has ended. */
  reserve(bytes: number): boolean {
    this.#hasRoom ||= bytes <= SMALL_REPLY_BYTES || this.#holdReply(COPIES * bytes);
    if (!this.#hasRoom) this.finish(this.#parts.noRoom);
    return this.#hasRoom;
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: Metadata = new Metadata()): void {
    if (this.#ended) return;
    this.#begun = true;
    this.#surface.call.sendMetadata(headers);
  }

  /**
   * Sends framed messages after `begin`. False: wait for `drained` before the next. The hold ends when they have left.
   * An array that is no Buffer belongs to the call from now on, with everything that shares its memory.
   */
  write(frames: Uint8Array, count: number, hold?: Hold): boolean {
    if (this.#ended) {
      hold?.release();
      return true;
    }
    assert(this.#surface.kind === 'server_stream', 'Only a stream is written to', this.method.name);
    this.#meter.sent(count);
    this.#unsent += 1;
    if (hold !== undefined) this.keep(hold);
    const outgoing = new OutgoingFrames(frames);
    this.#surface.call.write(outgoing, () => {
      outgoing.left();
      this.#sent(hold);
    });
    return this.#unsent === 0;
  }

  /** What takes the room for its replies. */
  taker(): Taker {
    return this.#parts.unsent.taker(this.#peer?.connection ?? this);
  }

  /** Keeps bytes until everything that was sent has left, or the peer has gone. */
  keep(hold: Hold): void {
    if (this.#peer === undefined) hold.release();
    else this.#peer.keep(hold);
  }

  /** Ends the call at once, with all that it has not sent: for a reader that does not read. */
  cut(): void {
    if (!this.#ended) this.#end('RESOURCE_EXHAUSTED');
    this.#peer?.reset();
  }

  /** Resolves when everything written has left, or the call has ended. One waiter at a time. */
  drained(): Promise<void> {
    if (this.#ended || this.#unsent === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        resolve();
      };
    });
  }

  /** Ends the call with a status, after what has been written. */
  finish(status: CallStatus): void {
    if (this.#ended) return;
    const { surface, details } = { surface: this.#surface, details: status.message.toWellFormed() };
    const ending = { code: GRPC_STATUS[status.code], details, metadata: trailersOf(status) };
    if (surface.kind === 'unary') surface.respond(ending);
    else if (status.code === 'OK') surface.call.end(ending.metadata);
    else surface.call.emit('error', ending);
    this.#end(status.code);
  }

  /** False when there is no room for so much. */
  #holdReply(bytes: number): boolean {
    const taker = this.taker();
    const evict = (): void => this.cut();
    const hold = this.method.mustAnswer === true ? taker.takeAnyway(bytes, evict) : taker.tryTake(bytes, evict);
    if (hold !== undefined) this.keep(hold);
    return hold !== undefined;
  }

  #sent(hold: Hold | undefined): void {
    if (hold !== undefined) this.#peer?.left(hold);
    this.#unsent -= 1;
    if (this.#unsent === 0) this.#onDrained?.();
  }

  // grpc-js says so at the end of every call; only a call that we have not ended was cut off.
  #cancelled(): void {
    if (!this.#ended) this.#end(this.#deadlineMs <= Date.now() ? 'DEADLINE_EXCEEDED' : 'CANCELLED');
  }

  get #deadlineMs(): number {
    const deadline = this.#surface.call.getDeadline();
    return typeof deadline === 'number' ? deadline : deadline.getTime();
  }

  #end(code: GrpcStatusName): void {
    this.#ended = true;
    this.#abort?.abort(callEnded(code));
    this.#onDrained?.();
    this.#peer?.ended();
    this.#meter.ended(code, (performance.now() - this.#startedAt) / 1000);
    this.#onEnded(this);
  }
}

function trailersOf(status: CallStatus): Metadata {
  const trailers = new Metadata();
  if (status.details !== undefined) trailers.set('grpc-status-details-bin', Buffer.from(status.details));
  for (const [name, value] of Object.entries(status.trailers ?? {})) trailers.set(name, value);
  return trailers;
}

/** One for each status: every call ends, and the stack of an error that says so costs more than it tells. */
const ENDED = new Map<GrpcStatusName, DatabaseError>();

function callEnded(code: GrpcStatusName): DatabaseError {
  const known = ENDED.get(code);
  if (known !== undefined) return known;
  const made = new DatabaseError('unavailable', `The call has ended: ${code}`);
  ENDED.set(code, made);
  return made;
}
