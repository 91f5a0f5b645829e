/**
 * One place for an executor: the jobs that wait for it, the process that it has just now, and what it is killed for.
 *
 * ```
 *            a job comes           it says ready             answers
 *   empty ────────────────▶ starting ───────────▶ ready ◀──────────────▶ working
 *     ▲                        │                    │                       │
 *     └────────────────────────┴── it has ended ────┴── killed for a breach ┘
 * ```
 *
 * Jobs are done in their order, one at a time; the next one is sent ahead, so that the process need not wait for it.
 * A job that gives way begins when no other one waits, and is never sent ahead: who comes after it waits for one such
 * job at most.
 * Whatever ends the process, the job that it was at gets the fault, and the one that was sent ahead goes to the next
 * process: it has not begun. Jobs of the same component that wait go behind those of others. Calls of guests change
 * nothing, so none is lost by being sent again.
 *
 *   G18 Every job is answered, once: by the guest, or by a fault. No guest, and no end of a process at whatever moment,
 *       keeps another job from being answered.
 *   G19 A process that breaks a limit of time or memory is killed, and a process that has grown is replaced while it
 *       has nothing to do.
 */

import type { Value } from '../abi/values.ts';
import type { Fault, FaultCode } from '../faults.ts';
import { NOTHING_SPENT, type Spent } from '../guest/calls.ts';
import { ExecutorProcess, type ProcessOptions } from './executor-process.ts';
import { LoadedArtifacts } from './loaded-artifacts.ts';
import { type Answer, encodeRequest, type HostCall, type HostResult, type Request } from './messages.ts';
import { type Vitals, vitalsOf } from './vitals.ts';

export interface TimeLimits {
  readonly wallMs: number;
  /** Of all threads of the process. */
  readonly cpuMs: number;
  /** The same since the host last answered it: what goes on is no loop. Default: as much as in all. */
  readonly quietCpuMs?: number | undefined;
}

export interface KeptArtifact {
  /** Of the component: what is counted and quarantined. */
  readonly digest: string;
  /**
   * Calls of one pool share instances, whatever a guest keeps in them; calls of two never do. Default: the digest, for
   * whoever has one artifact of each component and one owner.
   */
  readonly pool?: string | undefined;
  readonly bytes: Uint8Array;
}

export interface Job {
  readonly artifact: KeptArtifact | undefined;
  readonly time: TimeLimits;
  /** Aborts when nobody wants the answer any longer, or it is overdue; a call that runs ends with its process. */
  readonly signal?: AbortSignal | undefined;
  /** True: all others go first. */
  readonly givesWay?: boolean | undefined;
  /** The answer without a call, once there is to be none any more; it is asked for when the turn of the job comes. */
  barred?(): JobOutcome | undefined;
  /** What is asked, with these numbers in it. */
  request(id: number, artifact: number): Request;
  /** Answers what the guest asks while it is called; a rejection ends the call. */
  host(call: HostCall): Promise<HostResult>;
}

export type JobOutcome =
  | { readonly kind: 'value'; readonly spent: Spent; readonly value: Value }
  | { readonly kind: 'fault'; readonly spent: Spent; readonly fault: Fault };

export interface SlotSettings {
  readonly process: ProcessOptions;
  /** A process with more resident memory is killed. */
  readonly residentBytesMax: number;
  /** One with more is replaced when it has nothing to do. */
  readonly residentBytesKept: number;
  readonly artifactsMax: number;
  /** An instance with more memory is not used again. */
  readonly guestBytesKept: number;
  readonly waitingMax: number;
  readonly startMsMax: number;
  /** After so many jobs a process is replaced. */
  readonly jobsMax: number;
}

export interface SlotListeners {
  onStart(): void;
  /** A process was killed, or ended by itself, at a job; the component is absent where it was not its fault. */
  onKill(digest: string | undefined): void;
  onRecycle(): void;
}

interface Pending {
  readonly job: Job;
  readonly id: number;
  readonly resolve: (outcome: JobOutcome) => void;
}

/** Jobs at the process: the one that it is at, and the next. */
const SENT_MAX = 2;
/** How often its memory and time are looked at: the worst guest that was measured grows by 65 MB in this time. */
const WATCH_MS = 50;
/** Processes that end before they are ready, one behind the other, until the jobs that wait are given up. */
const FAILED_STARTS_MAX = 3;

export class ExecutorSlot {
  readonly #settings: SlotSettings;
  readonly #listeners: SlotListeners;
  #waiting: Pending[] = [];
  /** Those that give way. */
  #behind: Pending[] = [];
  #sent: Pending[] = [];
  #process: ExecutorProcess | undefined;
  #isReady = false;
  #loaded: LoadedArtifacts;
  /** Why it is being killed. */
  #verdict: Fault | undefined;
  /** The process that waits for an answer of the host: what happens meanwhile is not its component's fault. */
  #asking: ExecutorProcess | undefined;
  #jobsDone = 0;
  #failedStarts = 0;
  #nextId = 1;
  #residentBytes = 0;
  #cpuMsBefore: number | undefined;
  /** When the host last answered. */
  #cpuMsAnswered: number | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;
  #isClosing = false;

  constructor(settings: SlotSettings, listeners: SlotListeners) {
    this.#settings = settings;
    this.#listeners = listeners;
    this.#loaded = new LoadedArtifacts(settings.artifactsMax);
  }

  /** Jobs that wait or are worked on. */
  get length(): number {
    return this.#waiting.length + this.#behind.length + this.#sent.length;
  }

  get residentBytes(): number {
    return this.#process === undefined ? 0 : this.#residentBytes;
  }

  do(job: Job): Promise<JobOutcome> {
    if (this.#isClosing) return Promise.resolve(faulted('ExecutorLost', 'The executors are being closed'));
    const queue = job.givesWay === true ? this.#behind : this.#waiting;
    if (queue.length >= this.#settings.waitingMax) {
      const message = `${queue.length} calls wait for an executor, which is the most; try again`;
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
      // All batches of a fold have one signal.
      job.signal?.addEventListener('abort', abort, { once: true });
      this.#pump();
    });
  }

  /** Gives up what waits, and resolves when the process is gone. */
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
      if (this.#waiting.length + this.#behind.length > 0) this.#start();
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

  /** Whose turn it is. Much may have happened while it waited: whoever is barred by now is answered, and never sent. */
  #next(): Pending | undefined {
    for (;;) {
      const next = this.#waiting.shift() ?? (this.#sent.length === 0 ? this.#behind.shift() : undefined);
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
    this.#loaded = new LoadedArtifacts(this.#settings.artifactsMax);
    const started = new ExecutorProcess(this.#settings.process, {
      onAnswer: (answer) => this.#heard(answer),
      onHostCall: (id, call) => void this.#askHost(started, id, call),
      onEnd: (why) => this.#ended(why),
    });
    this.#process = started;
    this.#deadline = setTimeout(() => {
      this.#kill({ code: 'ExecutorLost', message: `No executor starts within ${this.#settings.startMsMax} ms` });
    }, this.#settings.startMsMax);
    this.#listeners.onStart();
  }

  /** By memory, or by what it has done: a new process costs less than one that is full. */
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
    const { guestBytesKept } = this.#settings;
    if (isNew) to.send(encodeRequest({ kind: 'load', id: 0, artifact: number, guestBytesKept, bytes }));
    return number;
  }

  /** The process is at this job from here on. */
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
      const message = `The executor takes ${residentBytes} bytes for the call; ${residentBytesMax} is the most`;
      this.#kill({ code: 'MemoryLimit', message });
    } else if (cpuMs - this.#cpuMsBefore > time.cpuMs) {
      this.#kill({ code: 'DeadlineExceeded', message: `The call takes more than ${time.cpuMs} ms of processor time` });
    } else if (this.#asking === undefined && cpuMs - this.#cpuMsAnswered > quietCpuMs) {
      const message = `The call takes more than ${quietCpuMs} ms of processor time and asks for nothing`;
      this.#kill({ code: 'DeadlineExceeded', message });
    }
  }

  #kill(verdict: Fault): void {
    this.#verdict ??= verdict;
    this.#process?.kill();
  }

  /** What was sent ahead is looked at again when its turn comes. */
  #abort(pending: Pending): void {
    if (this.#sent[0] === pending) this.#kill(verdictOf(pending.job));
    if (!this.#waiting.includes(pending) && !this.#behind.includes(pending)) return;
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    this.#behind = this.#behind.filter((other) => other !== pending);
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
    // It is as good as dead, and what it was at has its verdict.
    if (this.#verdict !== undefined) return;
    const [head] = this.#sent;
    if (head === undefined || head.id !== answer.id) {
      this.#kill({ code: 'ExecutorLost', message: 'The executor answers what it was not asked' });
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
    // Not always the first: the answer of the one before it may still be on its way.
    const asking = this.#sent.find((pending) => pending.id === id);
    if (asking === undefined) return;
    this.#asking = asker;
    const result = await asking.job.host(call).catch((error: unknown): HostResult => {
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
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
      const fault = this.#verdict ?? { code: 'ExecutorLost', message: `The executor is lost: ${why}` };
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
    const { message } = this.#verdict ?? { message: `No executor starts: ${why}` };
    this.#failAll(faulted('ExecutorLost', message));
  }

  #failAll(outcome: JobOutcome): void {
    const given = [...this.#waiting, ...this.#behind, ...(this.#isClosing ? this.#sent : [])];
    this.#waiting = [];
    this.#behind = [];
    if (this.#isClosing) this.#sent = [];
    for (const { resolve } of given) resolve(outcome);
  }
}

/** Those of a component that has ended the process may well end the next one, too: who waits beside them goes first. */
function behindOthers(waiting: readonly Pending[], digest: string): Pending[] {
  const isOfIt = ({ job }: Pending): boolean => job.artifact?.digest === digest;
  return [...waiting.filter((pending) => !isOfIt(pending)), ...waiting.filter(isOfIt)];
}

/** Why a signal aborts when the call should have been over, which it is its component's fault not to be. */
export const OVERDUE = 'overdue';

function verdictOf({ signal }: Job): Fault {
  if (signal?.reason !== OVERDUE) return CANCELLED;
  return { code: 'DeadlineExceeded', message: 'The call takes more time than there is for what it is a part of' };
}

const CANCELLED: Fault = { code: 'Cancelled', message: 'Nobody waits for the call any longer' };

/** How often an idle process is looked at, in jobs: a look costs two files' worth of system calls. */
const LOOKED_AT_EACH = 16;

export function faulted(code: FaultCode, message: string): Extract<JobOutcome, { readonly kind: 'fault' }> {
  return { kind: 'fault', spent: NOTHING_SPENT, fault: { code, message } };
}
