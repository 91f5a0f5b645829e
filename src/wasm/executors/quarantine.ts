/**
 * Components that ended too many processes are not called for a while.
 *
 * Each kill of an executor is counted for the component that it was at. So many within the window, and calls are
 * refused until it is over; then one more kill is enough. What is forgotten is forgotten in the order of time.
 *
 *   G17 A component costs at most `killsMax` processes within a window, however often it is called.
 */
export interface QuarantineOptions {
  readonly killsMax: number;
  readonly windowMs: number;
}

export class Quarantine {
  readonly #killsMax: number;
  readonly #windowMs: number;
  readonly #kills: Map<string, number[]> = new Map();

  constructor({ killsMax, windowMs }: QuarantineOptions) {
    this.#killsMax = killsMax;
    this.#windowMs = windowMs;
  }

  /** How many are in quarantine. */
  count(nowMs: number): number {
    return [...this.#kills.keys()].filter((digest) => this.endsIn(digest, nowMs) > 0).length;
  }

  killed(digest: string, nowMs: number): void {
    for (const [other, times] of this.#kills)
      if ((times.at(-1) ?? 0) <= nowMs - this.#windowMs) this.#kills.delete(other);
    const times = this.#kills.get(digest) ?? [];
    times.push(nowMs);
    this.#kills.set(digest, times.slice(-this.#killsMax));
  }

  /** Milliseconds until it may be called; 0 when it may. */
  endsIn(digest: string, nowMs: number): number {
    const times = this.#kills.get(digest) ?? [];
    const [oldest = 0] = times;
    return times.length < this.#killsMax ? 0 : Math.max(0, oldest + this.#windowMs - nowMs);
  }
}
