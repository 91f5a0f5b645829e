/** Counts the nodes that are affected by faults, so that a majority is never lost for long. */
import { nowUs } from './connection.ts';

/** Period during which a majority was up; infinite while it lasts. */
export interface Span {
  readonly fromUs: number;
  readonly toUs: number;
}

export class Quorum {
  readonly #size: number;
  readonly #now: () => number;
  readonly #wrong = new Map<number, number>();
  readonly #ended: Span[] = [];
  #changedMs = 0;
  #isWhole = true;
  #wholeFromUs: number;

  constructor(size: number, now: () => number = nowUs) {
    this.#size = size;
    this.#now = now;
    this.#wholeFromUs = now();
  }

  /** Periods with a majority, in order. */
  get spans(): readonly Span[] {
    return this.#isWhole
      ? [...this.#ended, { fromUs: this.#wholeFromUs, toUs: Number.POSITIVE_INFINITY }]
      : [...this.#ended];
  }

  /** True when a majority is up, and has been for `forMs`. */
  isSettled(forMs: number): boolean {
    return this.#isWhole && performance.now() - this.#changedMs >= forMs;
  }

  /** True when a majority stays up when these nodes fail too. */
  bears(numbers: readonly number[]): boolean {
    const wrong = new Set([...this.#wrong.keys(), ...numbers]);
    return this.#size - wrong.size > this.#size / 2;
  }

  async without(numbers: readonly number[], work: () => Promise<void>): Promise<void> {
    for (const number of numbers) this.#count(number, 1);
    try {
      await work();
    } finally {
      for (const number of numbers) this.#count(number, -1);
    }
  }

  #count(number: number, by: number): void {
    const count = (this.#wrong.get(number) ?? 0) + by;
    if (count === 0) this.#wrong.delete(number);
    else this.#wrong.set(number, count);
    const isWhole = this.bears([]);
    if (isWhole === this.#isWhole) return;
    this.#isWhole = isWhole;
    this.#changedMs = performance.now();
    if (isWhole) this.#wholeFromUs = this.#now();
    else this.#ended.push({ fromUs: this.#wholeFromUs, toUs: this.#now() });
  }
}
