/** Keeps count of the nodes that something is wrong with, so that a majority is never away for long. */
export class Quorum {
  readonly #size: number;
  readonly #wrong = new Map<number, number>();
  #changedMs = 0;
  #isWhole = true;

  constructor(size: number) {
    this.#size = size;
  }

  /** Whether a majority is well, and has been for so long. */
  isSettled(forMs: number): boolean {
    return this.#isWhole && performance.now() - this.#changedMs >= forMs;
  }

  /** Whether a majority is well when these nodes are not, either. */
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
    if (isWhole !== this.#isWhole) this.#changedMs = performance.now();
    this.#isWhole = isWhole;
  }
}
