/** One presentation, from its request to its end: its turns on executors, and the output of its guest. */
import { DatabaseError } from '#base';
import { type FunctionCall, type HostCall, type JobOutcome, OVERDUE, type Value } from '#wasm';
import { FOLD_WASI } from './batch-fold.ts';
import { PresentedBody, type PresentedPart } from './presented-body.ts';
import { failureIn, type PresentationAsked, presenterError, presentValues } from './presenter-call.ts';
import type { PresenterExecutors, PresenterSettings, PresenterTime } from './presenter-settings.ts';
import type { PresenterTurns, Turn } from './presenter-turns.ts';

export interface PresentationParts {
  readonly executors: PresenterExecutors;
  readonly time: PresenterTime;
  readonly settings: PresenterSettings;
  readonly turns: PresenterTurns;
  /** Reserves memory; returns false when it is exhausted. */
  grow(bytes: number): boolean;
  onSuspended(): void;
  /** Called once, when it has released everything. */
  onOver(): void;
}

/** A guest that waits in a write because its buffer is full. */
interface WriteWait {
  readonly sinceMs: number;
  readonly goOn: (isRead: boolean) => void;
  readonly end: (error: Error) => void;
  readonly stopTimers: () => void;
}

const TOKEN_CHARACTERS_MAX = 4096;
/** Maximum number of turns that end with their executor for no known fault of the guest. */
const LOST_MAX = 3;

export class Presentation implements Turn {
  readonly #asked: PresentationAsked;
  readonly #parts: PresentationParts;
  readonly #body: PresentedBody = new PresentedBody();
  readonly #wanted: AbortController = new AbortController();
  readonly #stopClocks: (() => void)[];
  readonly #begun: PromiseWithResolvers<DatabaseError | undefined> = Promise.withResolvers();
  readonly #endsMs: number;
  #aheadBytes: number;
  #fuel: number;
  #lostCount = 0;
  #continuation: string | undefined;
  #hasWritten = false;
  #wait: WriteWait | undefined;
  #waitedMs = 0;
  #stopConsidering: (() => void) | undefined;
  /** It has lost its turn, and continues when the reader has caught up. */
  #isAway = false;
  #isSuspended = false;
  #isCancelled = false;
  /** The guest has finished; unread output may remain. */
  #isMade = false;
  /** It has released everything. */
  #isClosed = false;

  constructor(asked: PresentationAsked, parts: PresentationParts) {
    this.#asked = asked;
    this.#parts = parts;
    const { time, settings } = parts;
    this.#aheadBytes = settings.aheadBytesMin;
    this.#fuel = settings.guest.limits.fuel;
    this.#endsMs = time.monotonicMs() + asked.wholeMs;
    this.#stopClocks = [
      time.after(asked.firstMs, () => {
        if (!this.#hasWritten) this.#end(tooSlow(asked.firstMs), OVERDUE);
      }),
      time.after(asked.wholeMs, () => this.#end(tooSlow(asked.wholeMs), OVERDUE)),
    ];
    void this.#make();
  }

  /** Resolves when a part of the body, or its end, can be read; with an error when there is neither. */
  begun(): Promise<DatabaseError | undefined> {
    return this.#begun.promise;
  }

  get continuation(): string | undefined {
    return this.#continuation;
  }

  next(): Promise<PresentedPart> {
    const part = this.#body.next();
    this.#taken();
    return part;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#end(new DatabaseError('unavailable', 'The presentation is cancelled.'));
  }

  get component(): string {
    return this.#asked.artifact.digest;
  }

  waitedMs(): number | undefined {
    if (this.#wait === undefined) return undefined;
    return this.#waitedMs + this.#parts.time.monotonicMs() - this.#wait.sinceMs;
  }

  suspend(): void {
    this.#isSuspended = true;
    const wait = this.#endWait();
    wait?.end(new Error('The presentation is suspended'));
  }

  /** One turn: runs the guest from its start to its end, or until it is suspended. */
  async #make(): Promise<void> {
    const { turns, executors } = this.#parts;
    this.#isAway = false;
    if (!(await turns.begin(this))) return;
    if (this.#isClosed) {
      turns.end(this);
      return;
    }
    this.#isSuspended = false;
    this.#waitedMs = 0;
    this.#body.beginAgain();
    const outcome = await executors.call(this.#call());
    this.#endWait()?.stopTimers();
    turns.end(this);
    this.#fuel = Math.max(1, this.#fuel - outcome.spent.fuel);
    this.#settle(outcome);
  }

  #call(): FunctionCall {
    const { settings, time } = this.#parts;
    const { limits, time: most } = settings.guest;
    // The deadline of the presentation ends it before that of the executor, which would kill the process.
    const wallMs = Math.min(most.wallMs, this.#endsMs - time.monotonicMs() + settings.graceMs * 2);
    return {
      artifact: this.#asked.artifact,
      bound: 'main',
      values: presentValues(this.#asked),
      // A new instance, so that no state leaks between requests.
      isFresh: true,
      limits: { ...limits, fuel: this.#fuel },
      time: { ...most, wallMs },
      wasi: FOLD_WASI,
      signal: this.#wanted.signal,
      host: (call) => this.#answer(call),
    };
  }

  #settle(outcome: JobOutcome): void {
    if (this.#isClosed) return;
    const isLost = outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost';
    if (isLost) this.#lostCount++;
    if (this.#isSuspended) this.#parts.onSuspended();
    if (this.#isSuspended || (isLost && this.#lostCount < LOST_MAX)) {
      this.#isAway = true;
      this.#taken();
      return;
    }
    const error = failureIn(outcome) ?? (this.#body.isCaughtUp ? undefined : otherBytes());
    if (error === undefined) this.#finish();
    else this.#end(error);
  }

  async #answer({ functionName, values: [value] }: HostCall): Promise<Value> {
    if (this.#isClosed) return this.#unwanted();
    if (functionName === 'write' && value instanceof Uint8Array) return this.#write(value);
    if (functionName === 'continue-with' && typeof value === 'string') return this.#continueWith(value);
    throw new TypeError(`The sink has no ${functionName}`);
  }

  /** Returns false the first time; a guest that writes again is terminated. */
  #unwanted(): boolean {
    if (!this.#isCancelled) throw new Error('The reader is gone');
    this.#isCancelled = false;
    return false;
  }

  #write(bytes: Uint8Array): Promise<boolean> | boolean {
    const { writeBytesMax, bodyBytesMax } = this.#parts.settings;
    if (bytes.length > writeBytesMax) {
      return this.#fail(`It writes ${bytes.length} bytes at once; the limit is ${writeBytesMax}`);
    }
    if (!this.#body.write(bytes)) {
      this.#end(otherBytes());
      throw new Error('The presenter produces other bytes than before');
    }
    if (this.#body.madeCount > bodyBytesMax) {
      return this.#fail(`Its body has more than ${bodyBytesMax} bytes`);
    }
    if (this.#body.madeCount > 0) this.#begin();
    return this.#body.heldBytes < this.#aheadBytes || this.#waitForReader();
  }

  #continueWith(token: string): undefined {
    if (this.#body.madeCount > 0 && this.#body.isCaughtUp) {
      this.#fail('It names where to continue after its first write');
    }
    if (token.length > TOKEN_CHARACTERS_MAX) {
      this.#fail(`It continues with ${token.length} characters; the limit is ${TOKEN_CHARACTERS_MAX}`);
    }
    if (!this.#hasWritten) this.#continuation = token;
    return undefined;
  }

  #fail(what: string): never {
    const error = presenterError(`The presenter is ended: ${what}`);
    this.#end(error);
    throw error;
  }

  #begin(): void {
    this.#hasWritten = true;
    this.#begun.resolve(undefined);
  }

  /** Waits until the reader has taken something, or the presentation is suspended. */
  #waitForReader(): Promise<boolean> {
    const { time, settings } = this.#parts;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const stopIdle = time.after(settings.idleMs, () => this.suspend());
    const stopTimers = (): void => {
      this.#stopConsidering?.();
      stopIdle();
    };
    this.#wait = { sinceMs: time.monotonicMs(), goOn: resolve, end: reject, stopTimers };
    this.#considerLater();
    return promise;
  }

  /** Schedules a check that may suspend it for others after its maximum wait. */
  #considerLater(): void {
    const { time, settings, turns } = this.#parts;
    const leftMs = settings.readerWaitMs - (this.waitedMs() ?? 0);
    if (leftMs <= 0) turns.consider();
    // A timer may fire early, because it counts from the start of its turn of the event loop.
    else this.#stopConsidering = time.after(Math.ceil(leftMs), () => this.#considerLater());
  }

  /** Ends the wait. */
  #endWait(): WriteWait | undefined {
    const wait = this.#wait;
    if (wait === undefined) return undefined;
    this.#waitedMs += this.#parts.time.monotonicMs() - wait.sinceMs;
    wait.stopTimers();
    this.#wait = undefined;
    return wait;
  }

  /** The reader has taken a part. */
  #taken(): void {
    if (this.#isClosed) return;
    const { heldBytes } = this.#body;
    if (this.#isMade && heldBytes === 0) this.#close();
    if (this.#wait !== undefined && heldBytes < this.#aheadBytes) this.#endWait()?.goOn(true);
    if (!this.#isAway || heldBytes > this.#aheadBytes / 2) return;
    const { aheadBytesMax } = this.#parts.settings;
    if (this.#aheadBytes * 2 <= aheadBytesMax && this.#parts.grow(this.#aheadBytes)) this.#aheadBytes *= 2;
    void this.#make();
  }

  #finish(): void {
    this.#isMade = true;
    this.#body.end({ kind: 'end' });
    this.#begun.resolve(undefined);
    if (this.#body.heldBytes === 0) this.#close();
  }

  #end(error: DatabaseError, why?: typeof OVERDUE): void {
    if (this.#isClosed) return;
    this.#body.end({ kind: 'failed', error });
    this.#begun.resolve(this.#hasWritten ? undefined : error);
    this.#close();
    this.#endWait()?.goOn(false);
    // Most guests wait in a write, and end when the write fails because the reader is gone.
    const { time, settings } = this.#parts;
    if (!this.#isMade) time.after(settings.graceMs, () => this.#wanted.abort(why));
  }

  #close(): void {
    this.#isClosed = true;
    for (const stop of this.#stopClocks) stop();
    this.#parts.turns.leaveQueue(this);
    this.#parts.onOver();
  }
}

function otherBytes(): DatabaseError {
  return presenterError('The presenter produces different bytes for the same input');
}

function tooSlow(ms: number): DatabaseError {
  return new DatabaseError('unavailable', `The presentation takes more than ${ms} ms; ask for less of it.`, {
    details: { reason: 'DeadlineExceeded' },
  });
}
