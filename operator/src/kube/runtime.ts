/**
 * Time and chance as the machinery receives them, so that tests hand in their own, and what is built on them alone:
 * waiting, deadlines, and the growing waits between attempts.
 *
 * Not here: a date. Only what is written into objects (events, conditions, leases) reads the wall clock.
 */

/** What the machinery takes from the machine. Two implementations: the system, and a clock that a test moves. */
export interface Runtime {
  /** Milliseconds of a clock that never goes back. Every wait and deadline is measured by it. */
  nowMs(): number;
  /** Milliseconds since 1970, for timestamps. */
  wallMs(): number;
  /** Calls `then` once, after `ms`. The result cancels that. */
  after(ms: number, then: () => void): () => void;
  /** From 0 up to, and without, 1. */
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

/** Waits `ms`, or until `signal` is aborted. It never rejects. */
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

/** A signal that is aborted after a time without `refresh`, by `end`, or with an outer signal. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** The time begins anew. */
  refresh(ms?: number): void;
  end(why: string): void;
}

/** `what` becomes the message of the error, as in "no answer". */
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

/** Waits between attempts: each is twice the one before up to a maximum, times 0.5 to 1.5 by chance. */
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
