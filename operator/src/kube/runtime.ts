/**
 * Clock, timers and randomness as a port, which tests replace; and delays, deadlines and backoff built on it.
 *
 * Only timestamps that are written into objects (events, conditions, leases) use the wall clock.
 */

/** Two implementations: the system, and a manual clock of the tests. */
export interface Runtime {
  /** Milliseconds of a monotonic clock, for waits and deadlines. */
  nowMs(): number;
  /** Milliseconds since the Unix epoch, for timestamps. */
  wallMs(): number;
  /** Calls `then` once after `ms`. The returned function cancels the timer. */
  after(ms: number, then: () => void): () => void;
  random(): number;
}

export const systemRuntime: Runtime = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Waits `ms`, or until `signal` is aborted. Never rejects. */
export function delay(runtime: Runtime, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal?.aborted === true) return Promise.resolve();
  const end = (): void => {
    cancel();
    signal?.removeEventListener('abort', end);
    resolve();
  };
  const cancel = runtime.after(ms, end);
  signal?.addEventListener('abort', end);
  return promise;
}

/** A signal that is aborted when the time has passed, by `end`, or with an outer signal. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Restarts the time. */
  refresh(ms?: number): void;
  end(why: string): void;
}

/** `what` begins the message of the error, as in "no response". */
export function deadline(
  runtime: Runtime,
  ms: number,
  { what, signal }: { readonly what: string; readonly signal?: AbortSignal | undefined },
): Deadline {
  const controller = new AbortController();
  const end = (why: string): void => controller.abort(new Error(why));
  const expire = (): void => end(`${what} within ${ms} ms`);
  const endWithOuter = (): void => controller.abort(signal?.reason);
  let cancel = runtime.after(ms, expire);
  if (signal?.aborted === true) endWithOuter();
  else signal?.addEventListener('abort', endWithOuter);
  return {
    signal: controller.signal,
    end,
    refresh: (nextMs = ms) => {
      cancel();
      cancel = runtime.after(nextMs, expire);
    },
    [Symbol.dispose]: () => {
      cancel();
      signal?.removeEventListener('abort', endWithOuter);
    },
  };
}

export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Exponential backoff: waits double up to a maximum, times a random factor of 0.5 to 1.5. */
export class Backoff {
  readonly #runtime: Runtime;
  readonly #limits: BackoffLimits;
  #nextMs: number;

  constructor(runtime: Runtime, limits: BackoffLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
    this.#nextMs = limits.firstMs;
  }

  nextMs(): number {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#limits.maxMs);
    return ms * (0.5 + this.#runtime.random());
  }

  reset(): void {
    this.#nextMs = this.#limits.firstMs;
  }
}
