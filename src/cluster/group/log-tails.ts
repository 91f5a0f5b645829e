/**
 * The ends of the logs that were applied here and that some member may lack: `load-entries` is answered from them.
 *
 * Raft itself keeps little of what is applied, and a follower nothing. Each group with other members has a tail:
 * entries without a gap, the last of them the last that was handed out to be applied. All tails together are bounded;
 * what has been in one for the longest goes first. A member that lacks more needs a snapshot.
 */
import { assert, Fifo, type LogIndex, type Term, toLogIndex } from '#base';
import type { EntriesLoaded, Entry, EntryId, LoadEntries } from '#raft';
import type { Group } from './group.ts';

interface Tail {
  /** The entry before the first. */
  base: EntryId;
  readonly entries: Fifo<Entry>;
  hasEnded: boolean;
}

/** What an entry takes in memory beside its payload, roughly. */
const ENTRY_BYTES = 64;

export class LogTails {
  readonly #bytesMax: number;
  readonly #tails = new Map<Group, Tail>();
  /** The tail of each entry of all tails, in the order in which they came; and of entries of tails that have ended. */
  readonly #order = new Fifo<Tail>();
  #endedCount = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins the tail of a group with what its log still held when it was opened, up to what is applied. */
  begin(group: Group, base: EntryId, entries: readonly Entry[]): void {
    this.#tails.set(group, { base, entries: new Fifo(), hasEnded: false });
    this.add(group, entries);
  }

  /** Entries were handed out to be applied. A group that has no tail yet begins one behind the first of them. */
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
    // Looked through only when half of it goes: where thousands of groups end, each would else look through all.
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
