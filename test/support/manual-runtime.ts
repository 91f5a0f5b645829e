/** A runtime of the operator with a manual clock and seeded randomness. */
import type { Runtime } from '../../operator/src/kube/index.ts';
import { Random } from '../model/generate/random.ts';

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

const BEGIN_MS = Date.UTC(2026, 10, 29, 12);
const FRACTIONS = 2 ** 30;

export class ManualRuntime implements Runtime {
  readonly chance: Random;
  readonly #timers = new Set<Timer>();
  #nowMs = 0;

  constructor(seed = 1) {
    this.chance = new Random(seed);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return BEGIN_MS + this.#nowMs;
  }

  random(): number {
    return this.chance.below(FRACTIONS) / FRACTIONS;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(ms, 0), fire: then };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the clock timer by timer. All promises settle before the next timer fires. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.fire();
      await settled();
    }
    this.#nowMs = endMs;
  }

  /** The runtime of a process whose clock has another rate. `stall` delays its timers, like a blocked event loop. */
  skewed(rate: number): Runtime & { stall(ms: number): void } {
    let stalledUntilMs = 0;
    const after = (ms: number, then: () => void): (() => void) => {
      let cancel = this.after(ms / rate, fire.bind(this));
      return () => cancel();
      function fire(this: ManualRuntime): void {
        const lateMs = stalledUntilMs - this.nowMs();
        if (lateMs <= 0) then();
        else cancel = this.after(lateMs, then);
      }
    };
    return {
      nowMs: () => this.#nowMs * rate,
      wallMs: () => this.wallMs(),
      random: () => this.random(),
      after,
      stall: (ms) => void (stalledUntilMs = this.#nowMs + ms),
    };
  }

  #next(endMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.dueMs < next.dueMs) next = timer;
    return next !== undefined && next.dueMs <= endMs ? next : undefined;
  }
}

/** Resolves when all promises have settled that do not wait for a timer. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
