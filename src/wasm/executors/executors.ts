/**
 * The executors of a node: the processes that run guests, and the distribution of calls among them.
 *
 * A call may name a lane, such as a State View with its parameters. One executor runs the calls of a lane in order and
 * keeps the component loaded; only when a component has ended the process do other calls go first. A call without a
 * lane goes to the shortest queue. Nothing here blocks the event loop of the node.
 */
import { availableParallelism } from 'node:os';
import { assert, crc32c, encodeUtf8 } from '#base';
import { isRecord, type Value, type ValueList } from '../abi/values.ts';
import { FAULT_CODES, type Fault, type FaultCode } from '../faults.ts';
import type { Bound, Limited, Spent } from '../guest/calls.ts';
import {
  ExecutorSlot,
  faulted,
  type Job,
  type JobOutcome,
  type KeptArtifact,
  type SlotSettings,
  type TimeLimits,
} from './executor-slot.ts';
import type { HostCall, HostResult } from './messages.ts';
import { Quarantine, type QuarantineOptions } from './quarantine.ts';

export interface ExecutorSettings extends SlotSettings {
  /** Processes: one for each core, and never more. */
  readonly count: number;
  readonly quarantine: QuarantineOptions;
  readonly onCall?: CallListener | undefined;
}

/** answered: with a value. failed: with an error of a fold, or a fault of the component other than a trap. */
export type CallResult = 'answered' | 'failed' | 'trapped';

/** Called with the digest for each call that a component answered or failed. The time includes the queueing. */
export type CallListener = (digest: string, result: CallResult, ms: number) => void;

const MIB = 2 ** 20;

export const DEFAULT_EXECUTORS: ExecutorSettings = {
  count: availableParallelism(),
  process: { heapBytesMax: 128 * MIB, answerBytesMax: 300 * MIB },
  residentBytesMax: 1024 * MIB,
  residentBytesKept: 384 * MIB,
  waitingMax: 1000,
  jobsMax: Number.POSITIVE_INFINITY,
  quarantine: { killsMax: 3, windowMs: 600_000, firstMs: 1_000 },
};

export interface GuestCall extends Limited {
  readonly artifact: KeptArtifact;
  readonly lane?: string;
  readonly time: TimeLimits;
  /** True: it starts when no other call waits for the executor. Default: in the order of the calls. */
  readonly givesWay?: boolean | undefined;
  /** Aborts when the caller gives up. */
  readonly signal?: AbortSignal | undefined;
}

export interface FoldCall extends GuestCall {
  /** The view that a guest of the SDK's shape receives; the host adds the state as `content`. */
  readonly shown?: Value;
  readonly state: Uint8Array;
  /** Each event follows its length: u32, little-endian. */
  readonly events: Uint8Array;
}

export interface FunctionCall extends GuestCall {
  readonly bound: Bound;
  readonly values: ValueList;
  /** True: the call needs an instance that has not been called before. */
  readonly isFresh?: boolean;
  /** Answers calls of our interfaces. A rejection ends the call. */
  readonly host?: (call: HostCall) => Promise<Value>;
}

export type FoldOutcome =
  | { readonly kind: 'state'; readonly spent: Spent; readonly state: Uint8Array }
  | { readonly kind: 'error'; readonly spent: Spent; readonly message: string }
  | { readonly kind: 'fault'; readonly spent: Spent; readonly fault: Fault };

/** Counters since the start, and current gauges. */
export interface ExecutorFigures {
  readonly calls: number;
  readonly faults: ReadonlyMap<FaultCode, number>;
  readonly fuel: number;
  readonly hostCalls: number;
  readonly starts: number;
  readonly kills: number;
  readonly recycled: number;
  readonly quarantined: number;
  readonly waiting: number;
  readonly residentBytes: number;
}

/** Faults that the component did not cause: the call did not begin, was cancelled, or failed in the node. */
const OUTSIDE: readonly FaultCode[] = ['HostCallFailed', 'Quarantined', 'Busy', 'Cancelled'];
const TRAPS: readonly FaultCode[] = ['Trap', 'StackOverflow'];

export class Executors implements AsyncDisposable {
  readonly #onCall: CallListener | undefined;
  readonly #slots: readonly ExecutorSlot[];
  readonly #quarantine: Quarantine;
  readonly #nowMs: () => number;
  readonly #faults: Map<FaultCode, number> = new Map(FAULT_CODES.map((code) => [code, 0]));
  #calls = 0;
  #fuel = 0;
  #hostCalls = 0;
  #starts = 0;
  #kills = 0;
  #recycled = 0;

  constructor(settings: ExecutorSettings = DEFAULT_EXECUTORS, nowMs: () => number = () => performance.now()) {
    assert(settings.count > 0, 'There is one executor at least', settings.count);
    this.#nowMs = nowMs;
    this.#onCall = settings.onCall;
    this.#quarantine = new Quarantine(settings.quarantine);
    const listeners = {
      onStart: () => void this.#starts++,
      onRecycle: () => void this.#recycled++,
      onKill: (digest: string | undefined) => {
        this.#kills++;
        if (digest !== undefined) this.#quarantine.killed(digest, this.#nowMs());
      },
    };
    this.#slots = Array.from({ length: settings.count }, () => new ExecutorSlot(settings, listeners));
  }

  figures(): ExecutorFigures {
    return {
      calls: this.#calls,
      faults: new Map(this.#faults),
      fuel: this.#fuel,
      hostCalls: this.#hostCalls,
      starts: this.#starts,
      kills: this.#kills,
      recycled: this.#recycled,
      quarantined: this.#quarantine.count(this.#nowMs()),
      waiting: this.#slots.reduce((sum, { length }) => sum + length, 0),
      residentBytes: this.#slots.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    };
  }

  /** Returns the state after all events, or the guest's error for one of them. */
  async fold(call: FoldCall): Promise<FoldOutcome> {
    const { limits, wasi, shown, state, events, signal } = call;
    const outcome = await this.#do(call, {
      signal,
      request: (id, artifact) => ({ kind: 'fold', id, artifact, limits, wasi, shown, state, events }),
      host: refused,
      isAnswer: (value) => isRecord(value) && value['tag'] === 'ok',
    });
    if (outcome.kind === 'fault') return outcome;
    const { spent, value } = outcome;
    const { tag, val } = isRecord(value) ? value : { tag: undefined, val: undefined };
    if (tag === 'ok' && val instanceof Uint8Array) return { kind: 'state', spent, state: val };
    return { kind: 'error', spent, message: typeof val === 'string' ? val : 'The guest returned no state' };
  }

  call(call: FunctionCall): Promise<JobOutcome> {
    const { limits, wasi, bound, values, isFresh = false, host, signal } = call;
    return this.#do(call, {
      signal,
      request: (id, artifact) => ({ kind: 'call', id, artifact, limits, wasi, bound, isFresh, values }),
      host: host === undefined ? refused : async (asked) => ({ kind: 'value', value: await host(asked) }),
      isAnswer: () => true,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  async #do(
    { artifact, lane, time, givesWay }: GuestCall,
    {
      isAnswer,
      ...job
    }: Omit<Job, 'artifact' | 'time' | 'givesWay' | 'barred'> & { readonly isAnswer: (value: Value) => boolean },
  ): Promise<JobOutcome> {
    this.#calls++;
    const startedMs = this.#nowMs();
    const barred = (): JobOutcome | undefined => this.#barred(artifact.digest);
    const outcome = barred() ?? (await this.#slot(lane).do({ ...job, artifact, time, givesWay, barred }));
    this.#fuel += outcome.spent.fuel;
    this.#hostCalls += outcome.spent.hostCalls;
    if (outcome.kind === 'fault') this.#countFault(outcome.fault.code);
    const result = resultOf(outcome, isAnswer);
    if (result !== undefined) this.#onCall?.(artifact.digest, result, this.#nowMs() - startedMs);
    return outcome;
  }

  #barred(digest: string): JobOutcome | undefined {
    const left = this.#quarantine.endsIn(digest, this.#nowMs());
    return left > 0 ? quarantined(left) : undefined;
  }

  #countFault(code: FaultCode): void {
    this.#faults.set(code, (this.#faults.get(code) ?? 0) + 1);
  }

  #slot(lane: string | undefined): ExecutorSlot {
    const [first, ...others] = this.#slots;
    assert(first !== undefined, 'There is one executor at least');
    if (lane !== undefined) return this.#slots[crc32c(encodeUtf8(lane)) % this.#slots.length] ?? first;
    return others.reduce((fewest, slot) => (slot.length < fewest.length ? slot : fewest), first);
  }
}

function resultOf(outcome: JobOutcome, isAnswer: (value: Value) => boolean): CallResult | undefined {
  if (outcome.kind !== 'fault') return isAnswer(outcome.value) ? 'answered' : 'failed';
  const { code } = outcome.fault;
  if (OUTSIDE.includes(code)) return undefined;
  return TRAPS.includes(code) ? 'trapped' : 'failed';
}

function quarantined(leftMs: number): JobOutcome {
  const message = `The component has ended too many executors; it is not called for ${Math.ceil(leftMs / 1000)} s`;
  const { spent, fault } = faulted('Quarantined', message);
  return { kind: 'fault', spent, fault: { ...fault, retryAfterMs: Math.ceil(leftMs) } };
}

async function refused({ interfaceName, functionName }: HostCall): Promise<HostResult> {
  return { kind: 'failed', message: `A guest calls ${interfaceName}#${functionName}, which the host does not have` };
}
