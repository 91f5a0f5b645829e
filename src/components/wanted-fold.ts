/**
 * A fold shared by several readers. It stops when no reader is left: after the current batch, or by ending the current
 * call if that takes more than a moment, because ending a call kills its process.
 */

/** Time for which the current call may continue without a reader. */
const GRACE_MS = 500;

export class WantedFold<Result> {
  readonly result: Promise<Result>;
  readonly #stop = new AbortController();
  readonly #end = new AbortController();
  #readers = 0;

  /** `fold` stops between two batches by the first signal, and during a call by the second. */
  constructor(fold: (stop: AbortSignal, end: AbortSignal) => Promise<Result>) {
    this.result = fold(this.#stop.signal, this.#end.signal);
  }

  /** True when no reader is left: it has no result for a new one. */
  get isAbandoned(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Returns the result; the signal removes this reader. */
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
