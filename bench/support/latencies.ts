/** Latencies of a run, stored exactly: percentiles come from the sorted values, not from buckets. */

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export class Latencies {
  #values = new Float64Array(1 << 16);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The longest latency. */
  get largest(): number {
    return this.#values.subarray(0, this.#count).reduce((most, value) => Math.max(most, value), 0);
  }

  /** Adds a latency in milliseconds. */
  add(value: number): void {
    if (this.#count === this.#values.length) {
      const wider = new Float64Array(this.#values.length * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.#count++] = value;
  }

  /** Adds the latencies of another run, if there is one. */
  addAll(others: Latencies | undefined): void {
    if (others === undefined) return;
    for (const value of others.#values.subarray(0, others.#count)) this.add(value);
  }

  percentiles(): Percentiles {
    const sorted = this.#values.subarray(0, this.#count).toSorted();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99), p999: at(0.999), max: at(1) };
  }
}
