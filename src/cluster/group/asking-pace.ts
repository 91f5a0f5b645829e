/**
 * How many groups of a node may ask for their leads at a look of its core, of thousands that have none.
 *
 * Each that asks has all its members write, answer and be heard. Thousands that ask at a time, and ask again before
 * they are answered, keep the nodes from everything else, beats included; so more leads are lost by that than won, and
 * it does not end. When there is too much to do looks come late: then fewer ask, by the square of how late they are,
 * and more again step by step.
 */

/** How often a core looks. */
const LOOK_MS = 50;
/** Somebody always asks. */
const LEAST = 8;
/** Of how late looks were counts so much at the next one. */
const KEPT = 0.8;

export class AskingPace {
  readonly #max: number;
  #lookedMs: number | undefined;
  /** Time between two looks, the longest of late. */
  #apartMs = LOOK_MS;
  #room: number;

  /** At most so many at a look. */
  constructor(max: number) {
    this.#max = max;
    this.#room = max;
  }

  /** A look begins, or goes on when it is of the same time. */
  look(nowMs: number): void {
    const apartMs = nowMs - (this.#lookedMs ?? nowMs - LOOK_MS);
    if (apartMs === 0) return;
    this.#lookedMs = nowMs;
    this.#apartMs = Math.max(LOOK_MS, apartMs, KEPT * this.#apartMs);
    this.#room = Math.max(Math.min(LEAST, this.#max), Math.floor(this.#max * (LOOK_MS / this.#apartMs) ** 2));
  }

  /** Whether one more may ask at this look. */
  take(): boolean {
    if (this.#room <= 0) return false;
    this.#room -= 1;
    return true;
  }

  /** How many more may ask at this look. */
  get room(): number {
    return this.#room;
  }
}
