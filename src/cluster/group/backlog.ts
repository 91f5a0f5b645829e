/**
 * The committed entries of one group that are not applied yet, in order, with the data that the first of them needs; or
 * the parts of a snapshot to install. Never both: a snapshot waits for the entries.
 */
import { assert, Fifo } from '#base';
import type { Entry } from '#raft';
import type { CheckedPart, HeldMembership } from '../state-transfer.ts';

/** A part of a snapshot, and the membership at its end. */
export interface PartToInstall {
  readonly part: CheckedPart;
  readonly members: HeldMembership;
}

export class Backlog {
  readonly #entries = new Fifo<Entry>();
  readonly #parts = new Fifo<PartToInstall>();
  #bytes = 0;
  #answers: readonly number[] | undefined;

  get length(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** True when it is empty. */
  get isEmpty(): boolean {
    return this.#entries.length + this.#parts.length === 0;
  }

  pushPart(part: PartToInstall): void {
    assert(this.#entries.length === 0, 'A snapshot is installed when all entries are applied', this.#entries.length);
    this.#parts.push(part);
  }

  shiftPart(): PartToInstall | undefined {
    return this.#parts.shift();
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

  /** Data from the store for the first entry; undefined when it was not requested. */
  get answers(): readonly number[] | undefined {
    return this.#answers;
  }

  /** Keeps the data for the first entry. */
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
