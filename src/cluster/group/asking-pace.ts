/**
 * Limits how many groups of a node may campaign per tick of its core, when thousands have no leader.
 *
 * Each campaign makes all members write, answer and exchange messages. Thousands of concurrent campaigns, repeated
 * before they are answered, delay everything else on the nodes, including heartbeats; more leaderships are lost by that
 * than won, and it does not end. An overloaded core ticks late: then fewer groups campaign, by the square of the
 * lateness, and more again step by step.
 */

/** Interval of the ticks of a core. */
const LOOK_MS = 50;
/** Minimum number of campaigns per tick. */
const LEAST = 8;
/** Decay factor of the tick lateness. */
const KEPT = 0.8;

export class AskingPace {
  readonly #max: number;
  #lookedMs: number | undefined;
  /** Time between two ticks, the maximum of recent ones. */
  #apartMs = LOOK_MS;
  #room: number;

  /** `max`: maximum number of campaigns per tick. */
  constructor(max: number) {
    this.#max = max;
    this.#room = max;
  }

  /** Starts a tick, or continues it when the time is the same. */
  look(nowMs: number): void {
    const apartMs = nowMs - (this.#lookedMs ?? nowMs - LOOK_MS);
    if (apartMs === 0) return;
    this.#lookedMs = nowMs;
    this.#apartMs = Math.max(LOOK_MS, apartMs, KEPT * this.#apartMs);
    this.#room = Math.max(Math.min(LEAST, this.#max), Math.floor(this.#max * (LOOK_MS / this.#apartMs) ** 2));
  }

  /** Returns whether one more group may campaign in this tick. */
  take(): boolean {
    if (this.#room <= 0) return false;
    this.#room -= 1;
    return true;
  }

  /** Number of further groups that may campaign in this tick. */
  get room(): number {
    return this.#room;
  }
}
