/**
 * The entries of one group that are committed and not yet applied, in order, with what the first of them still needs;
 * or the parts of a snapshot that are to be installed: never both, for a snapshot waits for the entries.
 */
import { assert, Fifo } from '#base';
import type { Entry } from '#raft';
import type { HeldMembership } from '../machine.ts';
import type { CheckedPart } from '../snapshots/state-transfer.ts';

/** A part of a snapshot, and who belongs to the group as of its end. */
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

  /** Whether there is nothing to do. */
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
