/**
 * The turns of a core: the one way in for whatever happens to it, and the end that each of them has.
 *
 * What a turn throws is a broken invariant or broken data: nothing happens any more, and whoever runs the core is told.
 */
import { Waiters } from './waiters.ts';

export interface TurnsPorts {
  /** Runs the work after everything that has arrived by then had its turn. */
  readonly later: (work: () => void) => void;
  /** What every turn ends with. */
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

  /** True once this node has drained: it leaves messages of other nodes to its next process. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Calls the listener once, when there are no more turns because something is broken. */
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

  /** A turn for what was heard of another node, as long as anything is. */
  hear(work: () => void): void {
    if (!this.#isDeaf) this.run(work);
  }

  /** Ends a turn that was not begun by `run`. */
  end(): void {
    if (this.hasFailed || this.#isClosed) return;
    this.#ports.end();
    this.#waiters.settle();
  }

  /** Another turn, for what is left to do. */
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

  /** The keeper of background work: whatever it fails with stops the core. */
  keep(work: Promise<void>): void {
    work.catch((failure: unknown) => this.fail(failure));
  }

  fail(failure: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure instanceof Error ? failure : new Error(String(failure));
    this.#waiters.fail(this.#failure);
    this.#onFailure(this.#failure);
  }

  /** What other nodes say from here on is for the next process: else there would always be something left to write. */
  closeEars(): void {
    this.#isDeaf = true;
  }

  /** There are no further turns. */
  close(): void {
    this.#isClosed = true;
  }
}
