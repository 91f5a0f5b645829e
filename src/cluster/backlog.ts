/**
 * The entries of one group that are committed and not yet applied, in order, with what the first of them still needs.
 */
import { assert } from '#base';
import type { KvRow } from '#kv';
import type { Entry } from '#raft';
import { Fifo } from './fifo.ts';

type Ranges = readonly (readonly KvRow[])[];

export class Backlog {
  readonly #entries = new Fifo<Entry>();
  #bytes = 0;
  #ranges: Ranges | undefined;

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

  /** The rows that were fetched for the first entry; undefined when none were asked for. */
  get ranges(): Ranges | undefined {
    return this.#ranges;
  }

  /** Keeps the rows that the first entry needs, until it is taken. */
  prepare(ranges: Ranges): void {
    this.#ranges = ranges;
  }

  shift(): Entry {
    const entry = this.#entries.shift();
    assert(entry !== undefined, 'An entry is taken from a backlog that has one');
    this.#bytes -= entry.payload.length;
    this.#ranges = undefined;
    return entry;
  }
}
