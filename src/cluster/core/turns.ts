/**
 * Turns of a core: the entry point of every event, and the common end of each turn.
 *
 * An exception in a turn is a broken invariant or damaged data: no further turn runs, and the owner of the core is
 * notified.
 */
import { Waiters } from './waiters.ts';

export interface TurnsPorts {
  /** Runs the work after other pending work. */
  readonly later: (work: () => void) => void;
  /** Runs at the end of every turn. */
  readonly end: () => void;
}

export class Turns {
  readonly #ports: TurnsPorts;
  readonly #waiters = new Waiters();
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
    this.#waiters.settle();
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

  /** Resolves at the end of the first turn in which the condition holds. */
  async until(isDone: () => boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await this.#waiters.until(isDone);
  }

  /** Tracks background work: a failure stops the core. */
  keep(work: Promise<void>): void {
    work.catch((failure: unknown) => this.fail(failure));
  }

  fail(failure: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure instanceof Error ? failure : new Error(String(failure));
    this.#waiters.fail(this.#failure);
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
