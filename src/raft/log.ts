/**
 * The log in memory: its recent tail, immutable, with the position where it begins.
 *
 *     released to disk            in memory
 *   |------------------| base |------------------------------| last
 *                              ^ persisted lies anywhere here (or at the base)
 *
 * Entries at or below the base are durable and applied; they must be loaded from disk.
 * The tail is a list of runs. Two neighbours of like size are merged, so that a log of n entries has about log2(n)
 * runs and an append copies few of them; every older version of the log stays valid.
 */
import { assert, type LogIndex, type Term, toLogIndex } from '#base';
import { type Entry, type EntryId, memoryBytes, payloadBytes } from './entry.ts';

export interface Log {
  /** The entry just before the first one in memory; {0, 0} before the first of all. */
  readonly base: EntryId;
  /** Invariant: no run is empty, and each continues the previous one (R3). */
  readonly runs: readonly (readonly Entry[])[];
  /** Last index on this node's disk. Invariant: base.index <= persisted <= last (R2). */
  readonly persisted: LogIndex;
  /** Bytes that the entries take in memory. */
  readonly bytes: number;
}

/** A log read from disk: all entries are persisted. */
export function recoveredLog(base: EntryId, entries: readonly Entry[]): Log {
  const log = append({ base, runs: [], persisted: base.index, bytes: 0 }, entries);
  return { ...log, persisted: lastId(log).index };
}

export function lastId(log: Log): EntryId {
  return log.runs.at(-1)?.at(-1) ?? log.base;
}

/** The term of an entry, or undefined when the entry is not in memory. */
export function termAt(log: Log, index: LogIndex): Term | undefined {
  if (index === log.base.index) return log.base.term;
  return entryAt(log, index)?.term;
}

/** Appends entries. Invariant: they continue the log (R3). */
export function append(log: Log, entries: readonly Entry[]): Log {
  const first = entries[0];
  if (first === undefined) return log;
  assert(first.index === lastId(log).index + 1, 'An append continues the log', first.index);
  const { base, persisted, bytes } = log;
  return { base, runs: mergeTail([...log.runs, entries]), persisted, bytes: bytes + memoryBytes(entries) };
}

/**
 * Drops the entries from `index` on, which is above the base. The remaining entries stay durable as far as they were.
 */
export function truncateFrom(log: Log, index: LogIndex): Log {
  assert(index > log.base.index && index <= lastId(log).index, 'A truncation begins inside the log', index);
  const runs: (readonly Entry[])[] = [];
  for (const run of log.runs) {
    const start = firstIndex(run);
    if (start + run.length <= index) runs.push(run);
    else if (start < index) runs.push(run.slice(0, index - start));
  }
  const dropped = memoryBytes(slice(log, index, lastId(log).index + 1));
  const persisted = toLogIndex(Math.min(log.persisted, index - 1));
  return { base: log.base, runs, persisted, bytes: log.bytes - dropped };
}

/** The entries with `from <= index < to`, which are all in memory. */
export function slice(log: Log, from: number, to: number): readonly Entry[] {
  assert(from > log.base.index && to <= lastId(log).index + 1, 'A slice lies in memory', [from, to]);
  const parts: Entry[] = [];
  for (const run of log.runs) {
    const start = firstIndex(run);
    if (start >= to) break;
    if (start + run.length <= from) continue;
    const whole = start >= from && start + run.length <= to;
    for (const entry of whole ? run : run.slice(Math.max(0, from - start), to - start)) parts.push(entry);
  }
  return parts;
}

/** All entries in memory. */
export function entriesOf(log: Log): readonly Entry[] {
  return slice(log, log.base.index + 1, lastId(log).index + 1);
}

/** Marks everything up to `index` as durable; a lower index has no effect. */
export function markPersisted(log: Log, index: LogIndex): Log {
  return index <= log.persisted ? log : { ...log, persisted: index };
}

/** Releases the entries up to `index`, which must be durable. */
export function releaseThrough(log: Log, index: LogIndex): Log {
  if (index <= log.base.index) return log;
  assert(index <= log.persisted, 'Only durable entries are released', index);
  const term = termAt(log, index);
  assert(term !== undefined, 'A released entry is in memory', index);
  const { persisted } = log;
  if (index === lastId(log).index) return { base: { index, term }, runs: [], persisted, bytes: 0 };
  const dropped = memoryBytes(slice(log, log.base.index + 1, index + 1));
  const runs: (readonly Entry[])[] = [];
  for (const run of log.runs) {
    const start = firstIndex(run);
    if (start > index) runs.push(run);
    else if (start + run.length > index + 1) runs.push(run.slice(index + 1 - start));
  }
  return { base: { index, term }, runs, persisted, bytes: log.bytes - dropped };
}

/** The index, at most `index`, up to which to release so that the entries take at most `bytesMax`. */
export function releaseFor(log: Log, bytesMax: number, index: LogIndex): LogIndex {
  let { bytes } = log;
  for (const run of log.runs) {
    for (const entry of run) {
      if (bytes <= bytesMax || entry.index > index) return toLogIndex(entry.index - 1);
      bytes -= memoryBytes([entry]);
    }
  }
  return index;
}

/**
 * The last entry at or before `index` whose term is at most `term`: the latest one at which a log with an entry of that
 * term at `index` can agree with this one. The search ends at the base of the log in memory.
 */
export function lastWithin(log: Log, { index, term }: EntryId): EntryId {
  let at: number = Math.min(index, lastId(log).index);
  if (at < log.base.index) return { index: toLogIndex(at), term };
  while (at > log.base.index && (termAt(log, toLogIndex(at)) ?? 0) > term) at -= 1;
  return { index: toLogIndex(at), term: termAt(log, toLogIndex(at)) ?? term };
}

/** Entries from `from` on within `bytesMax`, at least one. `from` is in memory. */
export function chunk(log: Log, from: LogIndex, bytesMax: number): readonly Entry[] {
  const newest = log.runs.at(-1);
  if (newest?.[0]?.index === from && payloadBytes(newest) <= bytesMax) return newest;
  const entries: Entry[] = [];
  let bytes = 0;
  for (let at: number = from; ; at += 1) {
    const entry = entryAt(log, toLogIndex(at));
    if (entry === undefined) return entries;
    bytes += entry.payload.length;
    if (bytes > bytesMax && entries.length > 0) return entries;
    entries.push(entry);
  }
}

function entryAt(log: Log, index: LogIndex): Entry | undefined {
  for (let at = log.runs.length - 1; at >= 0; at -= 1) {
    const run = log.runs[at];
    if (run !== undefined && index >= firstIndex(run)) return run[index - firstIndex(run)];
  }
  return undefined;
}

function firstIndex(run: readonly Entry[]): number {
  const first = run[0];
  assert(first !== undefined, 'A run has entries');
  return first.index;
}

/** Merges runs at the end until each is longer than all later ones; `runs` is the caller's own array. */
function mergeTail(runs: readonly (readonly Entry[])[]): readonly (readonly Entry[])[] {
  const merged = [...runs];
  for (;;) {
    const last = merged.at(-1);
    const before = merged.at(-2);
    if (last === undefined || before === undefined || before.length > last.length) return merged;
    merged.splice(-2, 2, [...before, ...last]);
  }
}
