/**
 * Warms machines in the background, one after the other, in the order in which their groups were opened.
 */
import { Fifo } from './fifo.ts';
import type { Group } from './group.ts';

export class Warmer {
  readonly #queue = new Fifo<Group>();
  #isClosed = false;

  add(group: Group): void {
    this.#queue.push(group);
  }

  get isWaiting(): boolean {
    return this.#queue.length > 0 && !this.#isClosed;
  }

  /** Warms what is queued. One call at a time. */
  async run(): Promise<void> {
    for (let group = this.#queue.shift(); group !== undefined && !this.#isClosed; group = this.#queue.shift()) {
      if (group.isOpen) await group.machine.warm();
    }
  }

  /** Stops after the machine that is being warmed. */
  close(): void {
    this.#isClosed = true;
  }
}
