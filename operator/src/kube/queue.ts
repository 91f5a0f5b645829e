/**
 * A queue of keys to be worked on. A key says that something about an object may have changed, but not what.
 *
 * ```
 *            add                          a worker is free
 *   idle ──────────> waiting ──────────────────────────────> working ──> idle
 *     │                 ^                                     │  │
 *     │ addAfter        │ in time                             │  │ added meanwhile
 *     └───────────> delayed <── failed, or asked for again ───┘  └──> waiting
 * ```
 *
 * Invariants:
 *   KM9   A key has one worker at a time. A key that is added during its work is worked on again afterwards.
 *   KM10  Work begins in the order of adds: a key never overtakes one that was added earlier.
 *   KM11  A failed key is retried after exponentially growing waits up to a maximum. An `add` shortens the wait to its
 *         minimum, not to zero: a key whose work fails and triggers its own `add` does not spin.
 *   KM12  After `close` no work begins. `close` resolves when the running work has ended.
 */
import { retryAfterMs } from './api-error.ts';
import { Backoff, type Runtime } from './runtime.ts';

export type Work = (key: string, signal: AbortSignal) => Promise<void>;

export interface QueueOptions {
  readonly runtime: Runtime;
  readonly workersMax?: number;
}

const BACKOFF = { firstMs: 500, maxMs: 300_000 };
const WORKERS_MAX = 4;

export class KeyedQueue {
  readonly #work: Work;
  readonly #options: Required<QueueOptions>;
  readonly #waiting = new Set<string>();
  readonly #delayed = new Map<string, { dueMs: number; cancel: () => void }>();
  readonly #working = new Set<string>();
  /** Keys in work that were added again. */
  readonly #again = new Set<string>();
  readonly #failing = new Map<string, Backoff>();
  readonly #closing = new AbortController();
  readonly #idle = Promise.withResolvers<void>();

  constructor(work: Work, options: QueueOptions) {
    this.#work = work;
    this.#options = { workersMax: WORKERS_MAX, ...options };
  }

  get depth(): number {
    return this.#waiting.size;
  }

  get failing(): number {
    return this.#failing.size;
  }

  add(key: string): void {
    if (this.#closing.signal.aborted) return;
    if (this.#failing.has(key)) this.addAfter(key, BACKOFF.firstMs);
    else this.#admit(key);
  }

  /** Adds the key later. The earliest of several times wins. */
  addAfter(key: string, ms: number): void {
    if (this.#closing.signal.aborted) return;
    const dueMs = this.#options.runtime.nowMs() + ms;
    const known = this.#delayed.get(key);
    if (known !== undefined && known.dueMs <= dueMs) return;
    known?.cancel();
    const then = (): void => {
      this.#delayed.delete(key);
      this.#admit(key);
    };
    this.#delayed.set(key, { dueMs, cancel: this.#options.runtime.after(ms, then) });
  }

  /** Drops waiting keys, aborts the signal of running work, and resolves when that has ended. */
  close(): Promise<void> {
    this.#closing.abort(new Error('the queue is closed'));
    this.#waiting.clear();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    if (this.#working.size === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  #admit(key: string): void {
    if (this.#working.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    // A list adds many keys in one event-loop turn; work begins after all of them.
    queueMicrotask(() => this.#fill());
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#working.size >= this.#options.workersMax) return;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    // This work determines when the next one is due.
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    const retryMs = await this.#attempt(key);
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else if (retryMs !== undefined) this.addAfter(key, retryMs);
    if (this.#closing.signal.aborted && this.#working.size === 0) this.#idle.resolve();
    this.#fill();
  }

  /** Returns the milliseconds until the next attempt when the work has failed. */
  async #attempt(key: string): Promise<number | undefined> {
    try {
      await this.#work(key, this.#closing.signal);
      this.#failing.delete(key);
      return undefined;
    } catch (error) {
      const backoff = this.#failing.get(key) ?? new Backoff(this.#options.runtime, BACKOFF);
      this.#failing.set(key, backoff);
      return Math.max(backoff.nextMs(), retryAfterMs(error));
    }
  }
}
