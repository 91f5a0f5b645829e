/**
 * Components that ended too many processes are not called for a while.
 *
 * Each kill of an executor is counted for the component that it was at. With so many of them within the window, calls
 * are refused: for a moment at first, and for four times as long with each further kill in the window, which is its
 * most. Those that wait by then are refused as well, when it is their turn. So one that ends a process by a rare call
 * is nearly always there for all others, and one that does it each time is nearly always refused. What is forgotten is
 * forgotten in the order of time.
 *
 *   G17 A component costs at most `killsMax` processes within a window, and one more for each time that its quarantine
 *       can be made four times as long, however often it is called.
 */
export interface QuarantineOptions {
  readonly killsMax: number;
  readonly windowMs: number;
  /** How long the first one is. Default: as long as the window. */
  readonly firstMs?: number;
}

const GROWTH = 4;

interface Kills {
  /** Within the window before the last one, oldest first. */
  readonly times: readonly number[];
  readonly endsAtMs: number;
}

export class Quarantine {
  readonly #killsMax: number;
  readonly #windowMs: number;
  readonly #firstMs: number;
  readonly #kills: Map<string, Kills> = new Map();

  constructor({ killsMax, windowMs, firstMs = windowMs }: QuarantineOptions) {
    this.#killsMax = killsMax;
    this.#windowMs = windowMs;
    this.#firstMs = firstMs;
  }

  /** How many are in quarantine. */
  count(nowMs: number): number {
    return [...this.#kills.keys()].filter((digest) => this.endsIn(digest, nowMs) > 0).length;
  }

  killed(digest: string, nowMs: number): void {
    const since = nowMs - this.#windowMs;
    for (const [other, { times, endsAtMs }] of this.#kills) {
      if ((times.at(-1) ?? 0) <= since && endsAtMs <= nowMs) this.#kills.delete(other);
    }
    const before = this.#kills.get(digest)?.times ?? [];
    const times = [...before.filter((time) => time > since), nowMs];
    this.#kills.set(digest, { times, endsAtMs: nowMs + this.#length(times.length) });
  }

  /** Milliseconds until it may be called; 0 when it may. */
  endsIn(digest: string, nowMs: number): number {
    const kills = this.#kills.get(digest);
    return kills === undefined ? 0 : Math.max(0, kills.endsAtMs - nowMs);
  }

  /** With so many kills in a window. */
  #length(kills: number): number {
    return kills < this.#killsMax ? 0 : Math.min(this.#windowMs, this.#firstMs * GROWTH ** (kills - this.#killsMax));
  }
}
