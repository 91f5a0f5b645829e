/**
 * Long work in short pieces, a few of them in each turn of the event loop.
 *
 * Judging, parsing and printing JSON takes tens of milliseconds a megabyte and cannot be interrupted. Done at once by
 * hundreds of requests it would keep everybody else waiting, a probe of `/health` too, for each of the turns that a new
 * connection needs. (TH11)
 *
 * ```
 *   run ──> queue, first come first served ── a turn has time left ──> the piece runs
 *                └────────── the turn is over ──> sockets and timers are served, then the next turn
 * ```
 */

/** How long the pieces of one turn may take; the last of them overshoots. */
const WORK_MS_PER_TURN = 5;

export class Turns {
  readonly #pieces: (() => void)[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Does the work when it is its turn, and gives what it returns or throws. */
  async run<Result>(work: () => Result): Promise<Result> {
    const ended = await new Promise<() => Result>((resolve) => {
      const piece = (): void => resolve(attempt(work));
      if (this.#pieces.push(piece) === 1) setImmediate(() => this.#work());
    });
    return ended();
  }

  #work(): void {
    const endMs = this.#nowMs() + WORK_MS_PER_TURN;
    let doneCount = 0;
    do {
      this.#pieces[doneCount]?.();
      doneCount++;
    } while (doneCount < this.#pieces.length && this.#nowMs() < endMs);
    this.#pieces.splice(0, doneCount);
    if (this.#pieces.length > 0) setImmediate(() => this.#work());
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
