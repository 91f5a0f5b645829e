/**
 * A slot for one executor: its queue of jobs, its current process, and the limits for which it kills the process.
 *
 * ```
 *            a job arrives         ready                   answers
 *   empty ────────────────▶ starting ───────────▶ ready ◀──────────────▶ working
 *     ▲                        │                    │                       │
 *     └────────────────────────┴─── process ends ───┴── killed for a breach ┘
 * ```
 *
 * Jobs run in order, one at a time; the next one is sent ahead, so that the process need not wait for it. A job with
 * `givesWay` starts when no other job waits, and is never sent ahead: a later job waits for at most one of them.
 * When the process ends, its current job fails with the fault, and the job that was sent ahead moves to the next
 * process: it has not begun. Waiting jobs of the same component move after those of others. Guest calls change
 * nothing, so sending a job again is safe.
 *
 *   G18 Every job is answered exactly once: by the guest, or by a fault. No guest, and no end of a process at any
 *       moment, keeps another job from being answered.
 *   G19 A process that exceeds a time or memory limit is killed, and a process that has grown is replaced while it
 *       is idle.
 */
import { messageOf } from '#base';
import type { Value } from '../abi/values.ts';
import type { Fault, FaultCode } from '../faults.ts';
import { NOTHING_SPENT, type Spent } from '../guest/calls.ts';
import { ExecutorProcess, type ProcessOptions } from './executor-process.ts';
import { type Answer, encodeRequest, type HostCall, type HostResult, type Request } from './messages.ts';
import { type Vitals, vitalsOf } from './vitals.ts';

export interface TimeLimits {
  readonly wallMs: number;
  /** Processor time of all threads of the process. */
  readonly cpuMs: number;
  /** Processor time since the last host call was answered: a loop makes no host calls. Default: `cpuMs`. */
  readonly quietCpuMs?: number | undefined;
}

export interface KeptArtifact {
  /** Digest of the component, by which faults are counted and calls quarantined. */
  readonly digest: string;
  /**
   * Calls of one pool share instances, and with them the guest's state; calls of different pools never do. Default: the
   * digest.
   */
  readonly pool?: string | undefined;
  readonly bytes: Uint8Array;
}

export interface Job {
  readonly artifact: KeptArtifact | undefined;
  readonly time: TimeLimits;
  /** Aborts when the caller gives up or the call is overdue; the process of a running call is killed. */
  readonly signal?: AbortSignal | undefined;
  /** True: all other jobs start first. */
  readonly givesWay?: boolean | undefined;
  /** The answer that replaces the call, if any; evaluated when the job is about to be sent. */
  barred?(): JobOutcome | undefined;
  /** The request of this job, with these numbers in it. */
  request(id: number, artifact: number): Request;
  /** Answers a host call of the guest; a rejection ends the call. */
  host(call: HostCall): Promise<HostResult>;
}

export type JobOutcome =
  | { readonly kind: 'value'; readonly spent: Spent; readonly value: Value }
  | { readonly kind: 'fault'; readonly spent: Spent; readonly fault: Fault };

export interface SlotSettings {
  readonly process: ProcessOptions;
  /** A process with more resident memory is killed. */
  readonly residentBytesMax: number;
  /** A process with more resident memory is replaced when idle. */
  readonly residentBytesKept: number;
  readonly waitingMax: number;
  /** Jobs after which a process is replaced. */
  readonly jobsMax: number;
}

export interface SlotListeners {
  onStart(): void;
  /** A process was killed or ended during a job; without a digest the component did not cause it. */
  onKill(digest: string | undefined): void;
  onRecycle(): void;
}

interface Pending {
  readonly job: Job;
  readonly id: number;
  readonly resolve: (outcome: JobOutcome) => void;
}

const ARTIFACTS_MAX = 64;
const START_MS_MAX = 10_000;
/** Jobs at the process: the current one and the next. */
const SENT_MAX = 2;
/** Interval of the memory and time checks: the worst guest measured grows by 65 MB in it. */
const WATCH_MS = 50;
/** Consecutive processes that end before they are ready, until the waiting jobs fail. */
const FAILED_STARTS_MAX = 3;

export class ExecutorSlot {
  readonly #settings: SlotSettings;
  readonly #listeners: SlotListeners;
  #waiting: Pending[] = [];
  /** Jobs with `givesWay`. */
  #yielding: Pending[] = [];
  #sent: Pending[] = [];
  #process: ExecutorProcess | undefined;
  #isReady = false;
  #loaded = new LoadedArtifacts();
  /** Fault for which the process is being killed. */
  #verdict: Fault | undefined;
  /** The process that waits for an answer of the host: the component did not cause what happens meanwhile. */
  #asking: ExecutorProcess | undefined;
  #jobsDone = 0;
  #failedStarts = 0;
  #nextId = 1;
  #residentBytes = 0;
  #cpuMsBefore: number | undefined;
  /** Processor time when the host last answered. */
  #cpuMsAnswered: number | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;
  #isClosing = false;

  constructor(settings: SlotSettings, listeners: SlotListeners) {
    this.#settings = settings;
    this.#listeners = listeners;
  }

  /** Number of jobs that wait or run. */
  get length(): number {
    return this.#waiting.length + this.#yielding.length + this.#sent.length;
  }

  get residentBytes(): number {
    return this.#process === undefined ? 0 : this.#residentBytes;
  }

  do(job: Job): Promise<JobOutcome> {
    if (this.#isClosing) return Promise.resolve(faulted('ExecutorLost', 'The executors are being closed'));
    const queue = job.givesWay === true ? this.#yielding : this.#waiting;
    if (queue.length >= this.#settings.waitingMax) {
      const message = `${queue.length} calls wait for an executor, the limit; try again`;
      return Promise.resolve(faulted('Busy', message));
    }
    return new Promise((resolve) => {
      const abort = (): void => this.#abort(pending);
      const settle = (outcome: JobOutcome): void => {
        job.signal?.removeEventListener('abort', abort);
        resolve(outcome);
      };
      const pending: Pending = { job, id: this.#nextId++, resolve: settle };
      queue.push(pending);
      // All batches of a fold share one signal.
      job.signal?.addEventListener('abort', abort, { once: true });
      this.#pump();
    });
  }

  /** Fails the waiting jobs, and resolves when the process has ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#failAll(faulted('ExecutorLost', 'The executors are being closed'));
    if (this.#process === undefined) return;
    const gone = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    this.#process.kill();
    await gone;
  }

  #pump(): void {
    if (this.#process === undefined) {
      if (this.#waiting.length + this.#yielding.length > 0) this.#start();
      return;
    }
    if (!this.#isReady) return;
    if (this.#isWorn()) {
      if (this.#sent.length === 0) this.#recycle();
      return;
    }
    while (this.#sent.length < SENT_MAX && this.#sent.length + this.#jobsDone < this.#settings.jobsMax) {
      const next = this.#next();
      if (next === undefined) return;
      this.#send(next, this.#process);
    }
  }

  /** The next job to send. A component may have been quarantined while its job waited: such a job is answered here. */
  #next(): Pending | undefined {
    for (;;) {
      const next = this.#waiting.shift() ?? (this.#sent.length === 0 ? this.#yielding.shift() : undefined);
      const barred = next?.job.barred?.();
      if (next === undefined || barred === undefined) return next;
      next.resolve(barred);
    }
  }

  #start(): void {
    this.#isReady = false;
    this.#verdict = undefined;
    this.#jobsDone = 0;
    this.#residentBytes = 0;
    this.#loaded = new LoadedArtifacts();
    const started = new ExecutorProcess(this.#settings.process, {
      onAnswer: (answer) => this.#heard(answer),
      onHostCall: (id, call) => void this.#askHost(started, id, call),
      onEnd: (why) => this.#ended(why),
    });
    this.#process = started;
    this.#deadline = setTimeout(() => {
      this.#kill({ code: 'ExecutorLost', message: `No executor started within ${START_MS_MAX} ms` });
    }, START_MS_MAX);
    this.#listeners.onStart();
  }

  /** Returns true when the process must be replaced, for its memory or its number of jobs. */
  #isWorn(): boolean {
    return this.#residentBytes > this.#settings.residentBytesKept || this.#jobsDone >= this.#settings.jobsMax;
  }

  #recycle(): void {
    this.#listeners.onRecycle();
    this.#process?.kill();
    this.#isReady = false;
  }

  #send(pending: Pending, to: ExecutorProcess): void {
    const { job, id } = pending;
    const artifact = job.artifact === undefined ? 0 : this.#load(job.artifact, to);
    this.#sent.push(pending);
    to.send(encodeRequest(job.request(id, artifact)));
    if (this.#sent.length === 1) this.#begin(pending);
  }

  #load({ digest, pool = digest, bytes }: KeptArtifact, to: ExecutorProcess): number {
    const { number, isNew, dropped } = this.#loaded.use(pool);
    if (dropped !== undefined) to.send(encodeRequest({ kind: 'unload', id: 0, artifact: dropped }));
    if (isNew) to.send(encodeRequest({ kind: 'load', id: 0, artifact: number, bytes }));
    return number;
  }

  /** Starts the limits of the job that the process now runs. */
  #begin({ job }: Pending): void {
    const { time } = job;
    if (job.signal?.aborted === true) return this.#kill(verdictOf(job));
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      const meanwhile = this.#asking === undefined ? '' : ', and waits for the host';
      this.#kill({ code: 'DeadlineExceeded', message: `The call takes more than ${time.wallMs} ms${meanwhile}` });
    }, time.wallMs);
    this.#cpuMsBefore = undefined;
    this.#cpuMsAnswered = undefined;
    this.#watch ??= setInterval(() => void this.#look(), WATCH_MS);
  }

  async #look(): Promise<void> {
    const watched = this.#process;
    const vitals = watched?.pid === undefined ? undefined : await vitalsOf(watched.pid);
    if (vitals !== undefined && watched === this.#process) this.#judge(vitals);
  }

  #judge({ residentBytes, cpuMs }: Vitals): void {
    this.#residentBytes = residentBytes;
    const [head] = this.#sent;
    if (head === undefined) return;
    const { residentBytesMax } = this.#settings;
    const { time } = head.job;
    this.#cpuMsBefore ??= cpuMs;
    this.#cpuMsAnswered ??= cpuMs;
    const { quietCpuMs = time.cpuMs } = time;
    if (residentBytes > residentBytesMax) {
      const message = `The executor takes ${residentBytes} bytes for the call; the limit is ${residentBytesMax}`;
      this.#kill({ code: 'MemoryLimit', message });
    } else if (cpuMs - this.#cpuMsBefore > time.cpuMs) {
      this.#kill({ code: 'DeadlineExceeded', message: `The call takes more than ${time.cpuMs} ms of processor time` });
    } else if (this.#asking === undefined && cpuMs - this.#cpuMsAnswered > quietCpuMs) {
      const message = `The call takes more than ${quietCpuMs} ms of processor time without a host call`;
      this.#kill({ code: 'DeadlineExceeded', message });
    }
  }

  #kill(verdict: Fault): void {
    this.#verdict ??= verdict;
    this.#process?.kill();
  }

  /** A job that was sent ahead is checked again when it begins. */
  #abort(pending: Pending): void {
    if (this.#sent[0] === pending) this.#kill(verdictOf(pending.job));
    if (!this.#waiting.includes(pending) && !this.#yielding.includes(pending)) return;
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    this.#yielding = this.#yielding.filter((other) => other !== pending);
    pending.resolve({ kind: 'fault', spent: NOTHING_SPENT, fault: CANCELLED });
  }

  #heard(answer: Answer): void {
    if (answer.kind === 'ready') {
      this.#isReady = true;
      this.#failedStarts = 0;
      clearTimeout(this.#deadline);
      this.#pump();
      return;
    }
    // The process is being killed, and its job fails with the verdict.
    if (this.#verdict !== undefined) return;
    const [head] = this.#sent;
    if (head === undefined || head.id !== answer.id) {
      this.#kill({ code: 'ExecutorLost', message: 'The executor sent an answer without a request' });
      return;
    }
    this.#sent.shift();
    this.#jobsDone++;
    const { id: _, ...outcome } = answer;
    head.resolve(outcome);
    const [next] = this.#sent;
    if (next === undefined) this.#rest();
    else this.#begin(next);
    this.#pump();
  }

  #rest(): void {
    clearTimeout(this.#deadline);
    clearInterval(this.#watch);
    this.#watch = undefined;
    if (this.#jobsDone % LOOKED_AT_EACH === 0) void this.#look().then(() => this.#pump());
  }

  async #askHost(asker: ExecutorProcess, id: number, call: HostCall): Promise<void> {
    // The job may be the second: the answer of the one before it may still be on its way.
    const asking = this.#sent.find((pending) => pending.id === id);
    if (asking === undefined) return;
    this.#asking = asker;
    const result = await asking.job.host(call).catch((error: unknown): HostResult => {
      return { kind: 'failed', message: messageOf(error) };
    });
    if (this.#asking === asker) {
      this.#asking = undefined;
      this.#cpuMsAnswered = undefined;
    }
    asker.answerHost(result);
  }

  #ended(why: string): void {
    const wasReady = this.#isReady;
    this.#process = undefined;
    this.#isReady = false;
    clearTimeout(this.#deadline);
    clearInterval(this.#watch);
    this.#watch = undefined;
    const [head, ...ahead] = this.#sent;
    this.#sent = [];
    this.#waiting = [...ahead, ...this.#waiting];
    if (head !== undefined) {
      const fault = this.#verdict ?? { code: 'ExecutorLost', message: `The executor ended: ${why}` };
      const isBlamed = this.#asking === undefined && fault !== CANCELLED;
      const blamed = isBlamed ? head.job.artifact?.digest : undefined;
      this.#listeners.onKill(blamed);
      if (blamed !== undefined) this.#waiting = behindOthers(this.#waiting, blamed);
      head.resolve({ kind: 'fault', spent: NOTHING_SPENT, fault });
    } else if (!wasReady && !this.#isWorn()) {
      this.#failedStart(why);
    }
    this.#asking = undefined;
    this.#onEmpty?.();
    if (!this.#isClosing) this.#pump();
  }

  #failedStart(why: string): void {
    this.#failedStarts++;
    if (this.#failedStarts < FAILED_STARTS_MAX) return;
    this.#failedStarts = 0;
    const { message } = this.#verdict ?? { message: `No executor started: ${why}` };
    this.#failAll(faulted('ExecutorLost', message));
  }

  #failAll(outcome: JobOutcome): void {
    const given = [...this.#waiting, ...this.#yielding, ...(this.#isClosing ? this.#sent : [])];
    this.#waiting = [];
    this.#yielding = [];
    if (this.#isClosing) this.#sent = [];
    for (const { resolve } of given) resolve(outcome);
  }
}

/** Moves the jobs of a component that ended the process after those of others: they may well end the next one. */
function behindOthers(waiting: readonly Pending[], digest: string): Pending[] {
  const isOfIt = ({ job }: Pending): boolean => job.artifact?.digest === digest;
  return [...waiting.filter((pending) => !isOfIt(pending)), ...waiting.filter(isOfIt)];
}

/** Abort reason of a call that exceeds its deadline, which counts as a fault of its component. */
export const OVERDUE = 'overdue';

function verdictOf({ signal }: Job): Fault {
  if (signal?.reason !== OVERDUE) return CANCELLED;
  return { code: 'DeadlineExceeded', message: 'The call takes more time than is left for its request' };
}

const CANCELLED: Fault = { code: 'Cancelled', message: 'The caller no longer waits for the call' };

/** Jobs between two checks of an idle process: a check costs system calls for two files. */
const LOOKED_AT_EACH = 16;

export function faulted(code: FaultCode, message: string): Extract<JobOutcome, { readonly kind: 'fault' }> {
  return { kind: 'fault', spent: NOTHING_SPENT, fault: { code, message } };
}

/** The artifacts that a process holds, by number; the least recently used one is dropped when there are too many. */
class LoadedArtifacts {
  /** In the order of their last use. */
  readonly #numbers = new Map<string, number>();
  #next = 1;

  /** `dropped`: the number of the artifact to unload. */
  use(pool: string): { readonly number: number; readonly isNew: boolean; readonly dropped: number | undefined } {
    const known = this.#numbers.get(pool);
    const number = known ?? this.#next++;
    this.#numbers.delete(pool);
    this.#numbers.set(pool, number);
    const [oldest] = this.#numbers.size > ARTIFACTS_MAX ? this.#numbers : [];
    if (oldest !== undefined) this.#numbers.delete(oldest[0]);
    return { number, isNew: known === undefined, dropped: oldest?.[1] };
  }
}
