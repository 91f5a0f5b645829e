/**
 * Long work on rows of databases that are not open: one piece at a time, while the node serves the others. It waits
 * while the disk is full.
 */
import type { DiskLevel } from '#storage';
import type { Turns } from './turns.ts';

/** Resolves with the rest of the work, which is done in a turn; undefined when it is not complete. */
export type RowTask = () => Promise<(() => void) | undefined>;

export interface RowWorkPorts {
  readonly turns: Pick<Turns, 'run' | 'keep'>;
  readonly disk: () => DiskLevel;
  /** The next task, if there is one. */
  readonly next: () => RowTask | undefined;
}

export class RowWork {
  readonly #ports: RowWorkPorts;
  #running: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(ports: RowWorkPorts) {
    this.#ports = ports;
  }

  /** A full store ends the node, and so does anything that fills its disk. */
  get mayWrite(): boolean {
    return !this.#isClosed && this.#ports.disk() === 'open';
  }

  start(): void {
    this.#isStarted = true;
    this.advance();
  }

  /** Starts the next task, unless one is in progress. */
  advance(): void {
    if (!this.#isStarted || this.#running !== undefined || !this.mayWrite) return;
    const task = this.#ports.next();
    if (task === undefined) return;
    this.#running = this.#run(task);
    this.#ports.turns.keep(this.#running);
  }

  /** Tasks stop after their current slice; the next start begins them again. */
  close(): void {
    this.#isClosed = true;
  }

  /** After `close`, resolves when nothing is written any more. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(task: RowTask): Promise<void> {
    const finish = await task();
    this.#running = undefined;
    if (finish === undefined || this.#isClosed) return;
    this.#ports.turns.run(() => {
      finish();
      this.advance();
    });
  }
}
