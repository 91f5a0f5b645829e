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
import type { MethodMeter, MethodName } from './method-name.ts';
import { type CallStatus, GRPC_STATUS, type GrpcStatusName } from './status.ts';

/** The call as grpc-js sees it: requests are bytes, replies are bytes in their frames. */
export type Surface =
  | {
      readonly kind: 'unary';
      readonly call: ServerUnaryCall<Uint8Array, Uint8Array>;
      readonly respond: sendUnaryData<Uint8Array>;
    }
  | { readonly kind: 'server_stream'; readonly call: ServerWritableStream<Uint8Array, Uint8Array> };

export interface CallParts {
  readonly surface: Surface;
  readonly method: MethodName;
  readonly meter: MethodMeter;
  readonly onEnded: (call: Call) => void;
}

export class Call {
  readonly method: MethodName;
  readonly #surface: Surface;
  readonly #meter: MethodMeter;
  readonly #onEnded: (call: Call) => void;
  readonly #startedAt = performance.now();
  #ended = false;
  #abort: AbortController | undefined;
  /** Chunks that grpc-js has not handed to the connection yet. */
  #unsent = 0;
  #onDrained: (() => void) | undefined;

  constructor(parts: CallParts) {
    this.method = parts.method;
    this.#surface = parts.surface;
    this.#meter = parts.meter;
    this.#onEnded = parts.onEnded;
    this.#meter.started();
    this.#meter.received();
    parts.surface.call.on('cancelled', () => this.#cancelled());
  }

  get ended(): boolean {
    return this.#ended;
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
    if (headers !== undefined) this.#surface.call.sendMetadata(headers);
    this.#surface.respond(null, framed, trailers);
    this.#meter.sent(1);
    this.#end('OK');
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: Metadata = new Metadata()): void {
    if (!this.#ended) this.#surface.call.sendMetadata(headers);
  }

  /** Sends framed messages after `begin`. False: wait for `drained` before the next. */
  write(frames: Uint8Array, count: number): boolean {
    if (this.#ended) return true;
    assert(this.#surface.kind === 'server_stream', 'Only a stream is written to', this.method.name);
    this.#meter.sent(count);
    this.#unsent += 1;
    this.#surface.call.write(frames, () => this.#sent());
    return this.#unsent === 0;
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

  #sent(): void {
    this.#unsent -= 1;
    if (this.#unsent === 0) this.#onDrained?.();
  }

  // grpc-js says so at the end of every call; only a call that we have not ended was cut off.
  #cancelled(): void {
    if (this.#ended) return;
    const deadline = this.#surface.call.getDeadline();
    const deadlineMs = typeof deadline === 'number' ? deadline : deadline.getTime();
    this.#end(deadlineMs <= Date.now() ? 'DEADLINE_EXCEEDED' : 'CANCELLED');
  }

  #end(code: GrpcStatusName): void {
    this.#ended = true;
    this.#abort?.abort(callEnded(code));
    this.#onDrained?.();
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

function callEnded(code: GrpcStatusName): DatabaseError {
  return new DatabaseError('unavailable', `The call has ended: ${code}`);
}
