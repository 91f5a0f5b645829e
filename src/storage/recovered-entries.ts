/**
 * Collects the entries after the checkpoints while a log is read from its beginning.
 *
 * The payloads are views into the current segment until `keep()` copies the remaining ones into a buffer of their own.
 * So one buffer serves all segments, and a recovered entry keeps no segment in memory.
 */
import type { GroupId } from '#base';
import type { LeveledEntry, LogRecord } from './log-records.ts';

export class RecoveredEntries {
  readonly #entries = new Map<GroupId, LeveledEntry[]>();
  /** Groups with entries that still point into the current segment. */
  readonly #borrowing = new Set<GroupId>();

  of(group: GroupId): readonly LeveledEntry[] {
    return this.#entries.get(group) ?? [];
  }

  /** Takes a record that the ledger has admitted. */
  take(record: LogRecord): void {
    switch (record.kind) {
      case 'entry':
        return this.#add(record.group, record);
      case 'truncate-from':
        return this.#drop(record.group, (entry) => entry.index < record.index);
      case 'checkpoint':
        return this.#drop(record.group, (entry) => entry.index > record.checkpoint.index);
      case 'log-start':
      case 'group-tombstone':
        this.#entries.delete(record.group);
        return;
      case 'hard-state':
      case 'group-summary':
      case 'tombstones':
        return;
    }
  }

  /** Copies what still points into `segment`, whose memory is about to be used for something else. */
  keep(segment: ArrayBufferLike): void {
    const borrowed = [...this.#borrowing].flatMap((group) => this.#entries.get(group) ?? []);
    const isBorrowed = (entry: LeveledEntry): boolean => entry.payload.buffer === segment;
    const bytes = borrowed.filter(isBorrowed).reduce((sum, entry) => sum + entry.payload.length, 0);
    const copy = new Uint8Array(bytes);
    let at = 0;
    for (const group of this.#borrowing) {
      const entries = this.#entries.get(group) ?? [];
      for (const [place, entry] of entries.entries()) {
        if (!isBorrowed(entry)) continue;
        copy.set(entry.payload, at);
        const payload = copy.subarray(at, at + entry.payload.length);
        at += entry.payload.length;
        entries[place] = { ...entry, payload };
      }
    }
    this.#borrowing.clear();
  }

  #add(group: GroupId, { term, index, level, payload, membership }: LeveledEntry): void {
    const entry = { term, index, level, payload, ...(membership && { membership }) };
    const entries = this.#entries.get(group);
    if (entries === undefined) this.#entries.set(group, [entry]);
    else entries.push(entry);
    this.#borrowing.add(group);
  }

  /** Keeps the entries for which `keeps` holds; they are contiguous, at either end of the list. */
  #drop(group: GroupId, keeps: (entry: LeveledEntry) => boolean): void {
    const entries = this.#entries.get(group);
    if (entries !== undefined) this.#entries.set(group, entries.filter(keeps));
  }
}
