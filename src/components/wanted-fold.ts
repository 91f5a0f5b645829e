/**
 * A fold that several readers wait for. It stops when none of them does any longer: behind the batch that is folded, or
 * with the call under way if that takes more than a moment. Ending a call costs its process, so it is not the first.
 */

/** A call that nobody waits for may go on for so long. */
const GRACE_MS = 500;

export class WantedFold<Result> {
  readonly result: Promise<Result>;
  readonly #stop = new AbortController();
  readonly #end = new AbortController();
  #readers = 0;

  /** `fold` stops between two batches by the first signal, and within one by the second. */
  constructor(fold: (stop: AbortSignal, end: AbortSignal) => Promise<Result>) {
    this.result = fold(this.#stop.signal, this.#end.signal);
  }

  /** Whether no reader waits for it any more: it has no result for a new reader. */
  get isAbandoned(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The result, for a reader who no longer waits for it when the signal aborts. */
  async read(signal: AbortSignal | undefined): Promise<Result> {
    this.#readers += 1;
    const leave = (): void => this.#leave();
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted === true) leave();
    try {
      return await this.result;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    this.#stop.abort();
    const ending = setTimeout(() => this.#end.abort(), GRACE_MS);
    const stay = (): void => clearTimeout(ending);
    this.result.then(stay, stay);
  }
}
