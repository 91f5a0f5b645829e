/**
 * Turns of a core: the entry point of every event, and the common end of each turn.
 *
 * An exception in a turn is a broken invariant or damaged data: no further turn runs, and the owner of the core is
 * notified.
 */

export interface TurnsPorts {
  /** Runs the work after other pending work. */
  readonly later: (work: () => void) => void;
  /** Runs at the end of every turn. */
  readonly end: () => void;
}

interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
  readonly reject: (failure: Error) => void;
}

export class Turns {
  readonly #ports: TurnsPorts;
  #waiters: readonly Waiter[] = [];
  #isAgain = false;
  #isDeaf = false;
  /** Log and store may be closed. */
  #isClosed = false;
  #failure: Error | undefined;
  #onFailure: (failure: Error) => void = () => undefined;

  constructor(ports: TurnsPorts) {
    this.#ports = ports;
  }

  /** True after the drain: messages of other nodes are left for the next process. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Calls the listener once, when a failure has ended all turns. */
  onFailure(listener: (failure: Error) => void): void {
    this.#onFailure = listener;
  }

  run(work: () => void): void {
    if (this.hasFailed || this.#isClosed) return;
    try {
      work();
      this.end();
    } catch (failure) {
      this.fail(failure);
    }
  }

  /** Runs a turn for a message of another node, unless it no longer accepts them. */
  hear(work: () => void): void {
    if (!this.#isDeaf) this.run(work);
  }

  /** Ends a turn that was not started by `run`. */
  end(): void {
    if (this.hasFailed || this.#isClosed) return;
    this.#ports.end();
    const done = this.#waiters.filter((waiter) => waiter.isDone());
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !done.includes(waiter));
    for (const waiter of done) waiter.resolve();
  }

  /** Schedules another turn for remaining work. */
  again(): void {
    if (this.#isAgain) return;
    this.#isAgain = true;
    this.#ports.later(() => {
      this.#isAgain = false;
      this.run(() => undefined);
    });
  }

  /** Resolves at the end of the first turn in which the condition holds, or at once. */
  async until(isDone: () => boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (isDone()) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters = [...this.#waiters, { isDone, resolve, reject }];
    });
  }

  /** Tracks background work: a failure stops the core. */
  keep(work: Promise<void>): void {
    work.catch((failure: unknown) => this.fail(failure));
  }

  fail(failure: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure instanceof Error ? failure : new Error(String(failure));
    for (const waiter of this.#waiters) waiter.reject(this.#failure);
    this.#waiters = [];
    this.#onFailure(this.#failure);
  }

  /** Ignores further messages of other nodes, because there would always be something left to write. */
  closeEars(): void {
    this.#isDeaf = true;
  }

  /** Ends all turns. */
  close(): void {
    this.#isClosed = true;
  }
}
