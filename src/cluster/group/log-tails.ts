/**
 * Tails of logs: applied entries that some member may lack, from which `load-entries` is answered.
 *
 * Raft itself keeps few applied entries, and a follower none. Each group with other members has a tail: contiguous
 * entries, up to the last one that was handed out to be applied. The total size of all tails is bounded; the entries
 * that were added first are evicted first. A member that lags more needs a snapshot.
 */
import { assert, Fifo, type LogIndex, type Term, toLogIndex } from '#base';
import type { EntriesLoaded, Entry, EntryId, LoadEntries } from '#raft';
import type { Group } from './group.ts';

interface Tail {
  /** The entry before the first one. */
  base: EntryId;
  readonly entries: Fifo<Entry>;
  hasEnded: boolean;
}

/** Approximate memory of an entry besides its payload. */
const ENTRY_BYTES = 64;

export class LogTails {
  readonly #bytesMax: number;
  readonly #tails = new Map<Group, Tail>();
  /** The tail of each entry, in the order of insertion; includes entries of ended tails. */
  readonly #order = new Fifo<Tail>();
  #endedCount = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Starts the tail of a group with the applied entries that its log still had when it was opened. */
  begin(group: Group, base: EntryId, entries: readonly Entry[]): void {
    this.#tails.set(group, { base, entries: new Fifo(), hasEnded: false });
    this.add(group, entries);
  }

  /** Entries were handed out to be applied. A group without a tail starts one before the first of them. */
  add(group: Group, entries: readonly Entry[]): void {
    const tail = this.#tails.get(group) ?? this.#beginBehind(group, entries);
    for (const entry of entries) {
      if (entry.index === tail.base.index) continue;
      const next = tail.base.index + tail.entries.length + 1;
      assert(entry.index === next, 'A tail has no gaps', [next, entry.index]);
      tail.entries.push(entry);
      this.#order.push(tail);
      this.#bytes += bytesOf(entry);
    }
    while (this.#bytes > this.#bytesMax) this.#dropOldest();
  }

  /** The group is gone. */
  end(group: Group): void {
    const tail = this.#tails.get(group);
    if (tail === undefined) return;
    this.#tails.delete(group);
    const entries = tail.entries.drain();
    for (const entry of entries) this.#bytes -= bytesOf(entry);
    tail.hasEnded = true;
    this.#endedCount += entries.length;
    // Cleaned up only when half of it has ended, because thousands of groups may end one after the other.
    if (this.#endedCount * 2 <= this.#order.length) return;
    for (const other of this.#order.drain()) if (!other.hasEnded) this.#order.push(other);
    this.#endedCount = 0;
  }

  /** Answers a `load-entries` effect: the entries from `from` on, at least one, or that they are gone. */
  load(group: Group, { replica, from, to, bytesMax }: LoadEntries): EntriesLoaded {
    const gone = { kind: 'entries-loaded', replica, from, found: undefined } as const;
    const tail = this.#tails.get(group);
    if (tail === undefined || from <= tail.base.index) return gone;
    const entries: Entry[] = [];
    let bytes = 0;
    for (let index: number = from; index < to; index += 1) {
      const entry = tail.entries.at(index - tail.base.index - 1);
      if (entry === undefined || (entries.length > 0 && bytes + entry.payload.length > bytesMax)) break;
      bytes += entry.payload.length;
      entries.push(entry);
    }
    if (entries.length === 0) return gone;
    return { kind: 'entries-loaded', replica, from, found: { previousTerm: termBefore(tail, from), entries } };
  }

  #beginBehind(group: Group, [first]: readonly Entry[]): Tail {
    assert(first !== undefined, 'Something was handed out', group.id);
    const tail: Tail = { base: { index: first.index, term: first.term }, entries: new Fifo(), hasEnded: false };
    this.#tails.set(group, tail);
    return tail;
  }

  #dropOldest(): void {
    const tail = this.#order.shift();
    assert(tail !== undefined, 'Tails that take memory have entries', this.#bytes);
    if (tail.hasEnded) {
      this.#endedCount -= 1;
      return;
    }
    const entry = tail.entries.shift();
    assert(entry !== undefined, 'What is in the order is in a tail', tail.base);
    tail.base = { index: entry.index, term: entry.term };
    this.#bytes -= bytesOf(entry);
  }
}

function termBefore({ base, entries }: Tail, from: LogIndex): Term {
  const before = toLogIndex(from - 1);
  return before === base.index ? base.term : (entries.at(before - base.index - 1)?.term ?? base.term);
}

function bytesOf({ payload }: Entry): number {
  return ENTRY_BYTES + payload.length;
}
