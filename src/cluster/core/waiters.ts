/** Promises that resolve when a condition holds at the end of a turn of the core (turns.ts). */

interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
  readonly reject: (failure: Error) => void;
}

export class Waiters {
  #waiters: readonly Waiter[] = [];

  /** Resolves at the end of the first turn in which the condition holds, or at once. */
  async until(isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters = [...this.#waiters, { isDone, resolve, reject }];
    });
  }

  /** Called at the end of a turn. */
  settle(): void {
    const done = this.#waiters.filter((waiter) => waiter.isDone());
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !done.includes(waiter));
    for (const waiter of done) waiter.resolve();
  }

  /** Rejects all promises, because there are no further turns. */
  fail(failure: Error): void {
    for (const waiter of this.#waiters) waiter.reject(failure);
    this.#waiters = [];
  }
}
