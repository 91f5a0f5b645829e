/** Warms caches of machines in the background, one after the other, in the order in which their groups were opened. */
import { Fifo } from '#base';
import type { Group } from '../group/group.ts';

export class Warmer {
  readonly #queue = new Fifo<Group>();
  #isClosed = false;
  #running: Promise<void> | undefined;

  add(group: Group): void {
    this.#queue.push(group);
  }

  /** Starts warming the queued machines, unless it runs already or there are none. */
  begin(): Promise<void> | undefined {
    if (this.#running !== undefined || this.#queue.length === 0 || this.#isClosed) return undefined;
    this.#running = this.#run();
    return this.#running;
  }

  /** The work in progress. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  async #run(): Promise<void> {
    for (let group = this.#queue.shift(); group !== undefined && !this.#isClosed; group = this.#queue.shift()) {
      if (group.isOpen) await group.machine.warm();
    }
    this.#running = undefined;
  }

  /** Stops after the current machine. */
  close(): void {
    this.#isClosed = true;
  }
}
