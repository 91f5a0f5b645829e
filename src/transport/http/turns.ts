/**
 * Runs long work in short pieces, a few per turn of the event loop (TH11).
 *
 * Parsing, checking and writing JSON takes tens of milliseconds per megabyte, and cannot be interrupted. Hundreds of
 * requests that do it at once would delay every other request, also a probe of `/health`.
 *
 * ```
 *   run ── queue empty, and time left in this turn ──> runs at once
 *    └──> queue, in order ── a later turn, while it has time left ──> runs
 * ```
 */

/** Time for the pieces of one turn. The last piece may exceed it. */
const WORK_MS_PER_TURN = 5;

export class Turns {
  readonly #pieces: (() => void)[] = [];
  readonly #nowMs: () => number;
  /** Time left in the turn. */
  #leftMs = WORK_MS_PER_TURN;
  /** Whether the next turn is scheduled, which resets the time. */
  #isTurning = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Runs the work in its turn, and returns or throws what it does. */
  async run<Result>(work: () => Result): Promise<Result> {
    this.#awaitTurn();
    if (this.#pieces.length === 0 && this.#leftMs > 0) return this.#timed(work);
    const ended = await new Promise<() => Result>((resolve) => {
      this.#pieces.push(() => resolve(attempt(work)));
    });
    return ended();
  }

  #awaitTurn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isTurning = false;
    this.#leftMs = WORK_MS_PER_TURN;
    let doneCount = 0;
    for (const piece of this.#pieces) {
      if (this.#leftMs <= 0) break;
      this.#timed(piece);
      doneCount++;
    }
    if (doneCount === 0) return;
    this.#pieces.splice(0, doneCount);
    this.#awaitTurn();
  }

  #timed<Result>(work: () => Result): Result {
    const beganMs = this.#nowMs();
    try {
      return work();
    } finally {
      this.#leftMs -= this.#nowMs() - beganMs;
    }
  }
}

/** Outcome of the work, for the caller. */
function attempt<Result>(work: () => Result): () => Result {
  try {
    const result = work();
    return () => result;
  } catch (failure) {
    return () => {
      throw failure;
    };
  }
}
