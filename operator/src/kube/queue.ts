/**
 * A queue of keys that are worked through: a key says that something about an object may have changed, not what.
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
 *   KM9   A key is never worked by two at once. One that is added while it is worked is worked again afterwards.
 *   KM10  Keys are worked in the order in which they were added: none is passed by another that came later.
 *   KM11  A key that fails is worked again after waits that grow up to a maximum. An `add` shortens such a wait, but not
 *         below its least: a key whose work fails, and changes what it looks at, does not spin.
 *   KM12  After `close` no work begins, and `close` resolves when none is left.
 */
import { retryAfterMs } from './api-error.ts';
import { Backoff, type BackoffLimits, type Runtime } from './runtime.ts';

/** Resolves with the milliseconds after which the key is to be worked again; undefined when only an `add` says so. */
export type Work = (key: string, signal: AbortSignal) => Promise<number | undefined>;

export interface QueueOptions {
  readonly runtime: Runtime;
  readonly onError: (error: unknown, key: string) => void;
  readonly workersMax?: number;
  readonly backoff?: BackoffLimits;
}

interface Delayed {
  readonly dueMs: number;
  readonly cancel: () => void;
}

const BACKOFF = { firstMs: 500, maxMs: 300_000 };
const WORKERS_MAX = 4;

export class KeyedQueue {
  readonly #work: Work;
  readonly #options: Required<QueueOptions>;
  readonly #waiting = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #working = new Set<string>();
  /** Those of them that were added meanwhile. */
  readonly #again = new Set<string>();
  readonly #failing = new Map<string, Backoff>();
  readonly #closing = new AbortController();
  readonly #idle = Promise.withResolvers<void>();

  constructor(work: Work, options: QueueOptions) {
    this.#work = work;
    this.#options = { workersMax: WORKERS_MAX, backoff: BACKOFF, ...options };
  }

  /** Keys that wait for a worker. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys whose last work failed. */
  get failing(): number {
    return this.#failing.size;
  }

  add(key: string): void {
    if (this.#closing.signal.aborted) return;
    if (this.#failing.has(key)) this.addAfter(key, this.#options.backoff.firstMs);
    else this.#admit(key);
  }

  /** Adds the key later; the earliest of several times counts. */
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

  /** Drops what waits, tells what works by its signal, and resolves when that has ended. */
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
    // What adds one key, such as a list, adds others in the same turn.
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
    // What is asked for again, this work will say.
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    const afterMs = await this.#outcomeOf(key);
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else if (afterMs !== undefined) this.addAfter(key, afterMs);
    if (this.#closing.signal.aborted && this.#working.size === 0) this.#idle.resolve();
    this.#fill();
  }

  async #outcomeOf(key: string): Promise<number | undefined> {
    try {
      const afterMs = await this.#work(key, this.#closing.signal);
      this.#failing.delete(key);
      return afterMs;
    } catch (error) {
      const backoff = this.#failing.get(key) ?? new Backoff(this.#options.runtime, this.#options.backoff);
      this.#failing.set(key, backoff);
      this.#options.onError(error, key);
      return Math.max(backoff.nextMs(), retryAfterMs(error));
    }
  }
}
