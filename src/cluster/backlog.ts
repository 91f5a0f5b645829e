/**
 * The entries of one group that are committed and not yet applied, in order, with what the first of them still needs.
 */
import { assert } from '#base';
import type { Entry } from '#raft';
import { Fifo } from './fifo.ts';

export class Backlog {
  readonly #entries = new Fifo<Entry>();
  #bytes = 0;
  #answers: readonly number[] | undefined;

  get length(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#bytes += entry.payload.length;
    }
  }

  peek(): Entry | undefined {
    return this.#entries.peek();
  }

  /** What the first entry asked of the store; undefined when it has not asked. */
  get answers(): readonly number[] | undefined {
    return this.#answers;
  }

  /** Keeps the answers for the first entry, until it is taken. */
  prepare(answers: readonly number[]): void {
    this.#answers = answers;
  }

  shift(): Entry {
    const entry = this.#entries.shift();
    assert(entry !== undefined, 'An entry is taken from a backlog that has one');
    this.#bytes -= entry.payload.length;
    this.#answers = undefined;
    return entry;
  }
}
