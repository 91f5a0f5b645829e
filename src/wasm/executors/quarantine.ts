/**
 * Components that ended too many processes are not called for a while.
 *
 * Each kill of an executor counts against the component that ran in it. From `killsMax` kills within the window on, its
 * calls are refused: for `firstMs` at first, and four times as long after each further kill in the window, up to the
 * length of the window. Calls that already wait are refused too. So a component that rarely ends a process stays
 * available for most calls, and a component that always does is refused most of the time.
 *
 *   G17 Within a window a component costs at most `killsMax` processes, and one more for each time that its quarantine
 *       can grow fourfold, however often it is called.
 */
export interface QuarantineOptions {
  readonly killsMax: number;
  readonly windowMs: number;
  /** Length of the first quarantine. Default: the window. */
  readonly firstMs?: number;
}

const GROWTH = 4;

interface Kills {
  /** Kills within the window before the last one, oldest first. */
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

  /** Number of components in quarantine. */
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

  /** Milliseconds until the component may be called; 0 when it may be. */
  endsIn(digest: string, nowMs: number): number {
    const kills = this.#kills.get(digest);
    return kills === undefined ? 0 : Math.max(0, kills.endsAtMs - nowMs);
  }

  /** Length of the quarantine after so many kills in a window. */
  #length(kills: number): number {
    return kills < this.#killsMax ? 0 : Math.min(this.#windowMs, this.#firstMs * GROWTH ** (kills - this.#killsMax));
  }
}
