/**
 * Long work in short pieces, a few of them in each turn of the event loop.
 *
 * Judging, parsing and printing JSON takes tens of milliseconds a megabyte and cannot be interrupted. Done at once by
 * hundreds of requests it would keep everybody else waiting, a probe of `/health` too, for each of the turns that a new
 * connection needs. (TH11)
 *
 * ```
 *   run ── nobody waits, and the turn has time left ──> done at once
 *    └──> queue, first come first served ── the next turn, while it has time left ──> done
 * ```
 */

/** How long the pieces of one turn may take; the last of them overshoots. */
const WORK_MS_PER_TURN = 5;

export class Turns {
  readonly #pieces: (() => void)[] = [];
  readonly #nowMs: () => number;
  /** What is left of the turn. */
  #leftMs = WORK_MS_PER_TURN;
  /** Whether the next turn is awaited, in which the time begins anew. */
  #isTurning = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Does the work when it is its turn, and gives what it returns or throws. */
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

/** How the work ended, to be repeated to whoever waits for it. */
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
