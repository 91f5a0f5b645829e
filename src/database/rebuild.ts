/**
 * Makes every row of a database again from its history up to a durable point: after a crash that left a gap above it,
 * and when rows are lost or damaged.
 *
 * 1. The history is cut at the durable point: what follows it may be torn, and must not be synced.
 * 2. The applied row is deleted, then, when that is durable, all rows. A start without it begins again, so a crash
 *    needs no note.
 * 3. Each record writes its rows by the code that wrote them the first time. The applied row is written last, when all
 *    other rows are durable.
 *
 * Log entries above the durable index are then applied like new ones. A state that already held some of them would
 * decide them differently (D11).
 */
import type { GroupId } from '#base';
import type { HistoryRange, KvBatch, KvStore } from '#kv';
import type { Applied } from './applied.ts';
import { HistoryChain } from './chain.ts';
import { isFaultOfRow, unexpectedRecord } from './corruption.ts';
import { DatabaseWriter } from './database-writer.ts';
import { type NewDatabase, newDatabase } from './facts.ts';
import { KeyFilter } from './key-filter.ts';
import { KeyHash } from './key-hash.ts';
import { RowKeys, TABLE } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import type { DurablePoint } from './verify.ts';
import { walkHistory } from './walks.ts';

const FILTER_BYTES_MAX = 64 * 1024 * 1024;

export interface RebuildTarget {
  readonly durable: DurablePoint;
  /** The database as the catalog creates it; its membership counts while nothing is durable. */
  readonly created: NewDatabase;
  /** See `MachineOptions`. */
  readonly segmentBytes?: number | undefined;
  /** Makes every completed write of the store durable. */
  readonly syncStore: () => Promise<void>;
  /** Called after each slice, with its end in the history. */
  readonly mayContinue: (indexed: number) => boolean;
}

/** Steps 1 and 2, up to the applied row: it is deleted when the store is synced. */
export async function withdrawRows(store: KvStore, group: GroupId, { history }: DurablePoint): Promise<void> {
  const { gte, lt } = new RowKeys(group).tables(TABLE.APPLIED, TABLE.APPLIED + 1);
  await store.cutHistory(group, history.end, history);
  await store.clear(gte, lt);
}

/**
 * When the promise resolves with true, the rows are durable; with false, `mayContinue` returned false in between.
 * Nothing else may read or write the group meanwhile.
 * @throws DatabaseError when a durable record is missing or not whole, with the first revision that cannot be read
 */
export async function rebuildDerived(store: KvStore, source: DatabaseSource, target: RebuildTarget): Promise<boolean> {
  const { durable, created, syncStore } = target;
  await withdrawRows(store, source.group, durable);
  await syncStore();
  const all = new RowKeys(source.group).all();
  await store.clear(all.gte, all.lt);
  const empty = newDatabase(source.sha256, created);
  const start = durable.index === 0 ? empty : { ...empty, logStart: durable.logStart, group: durable.group };
  return indexHistory(store, { ...target, source, start });
}

interface Rebuild extends RebuildTarget {
  readonly source: DatabaseSource;
  /** The state at revision 0. */
  readonly start: Applied;
}

async function indexHistory(store: KvStore, rebuild: Rebuild): Promise<boolean> {
  const { source, start, durable, segmentBytes, syncStore, mayContinue } = rebuild;
  const { end } = durable.history;
  // There are no rows, so the filter knows them all.
  const filter = new KeyFilter(FILTER_BYTES_MAX);
  filter.complete();
  const reader = new DatabaseReader(source);
  const writer = new DatabaseWriter({ reader, applied: start, filter, hash: new KeyHash(), segmentBytes });
  const chain = new HistoryChain(source.sha256, start);
  let writing: Promise<void> = Promise.resolve();
  /** Begins a write when the last one has ended: a slice is written while this thread indexes the next. */
  const write = async (flushInto: (batch: KvBatch) => void): Promise<void> => {
    await writing;
    const batch = store.batch();
    flushInto(batch);
    writing = store.write(batch).then(() => writer.flushed());
    // The next wait for it throws the failure.
    writing.catch(() => undefined);
  };
  try {
    for await (const records of walkHistory(new DatabaseReader(source, { lends: true }), { from: 0, to: end })) {
      for (const record of records) {
        const fault = chain.take(record);
        if (fault !== undefined) throw unexpectedRecord(source.group, record.position, fault);
        writer.replay(record);
      }
      await write((batch) => writer.flushRowsInto(batch));
      if (!mayContinue(writer.applied.end)) return false;
    }
  } catch (failure) {
    if (!isFaultOfRow(failure)) throw failure;
    throw failure.with({ unreadable: await firstUnreadable(reader, chain, { from: writer.applied.end, to: end }) });
  } finally {
    await writing;
  }
  if (chain.revision !== durable.revision) {
    const fault = `the history ends with revision ${chain.revision}, before ${durable.revision}`;
    throw unexpectedRecord(source.group, end, fault);
  }
  await syncStore();
  writer.advance(durable.index, durable.term);
  await write((batch) => writer.flushInto(batch));
  await writing;
  await syncStore();
  return true;
}

/** The first revision behind the chain whose record cannot be read: a slice that cannot be read has many records. */
async function firstUnreadable(
  reader: DatabaseReader,
  chain: HistoryChain,
  { from, to }: HistoryRange,
): Promise<number> {
  try {
    for (let at = from; at < to; ) {
      const { records, end } = await reader.records({ from: at, to }, 1);
      if (records.some((record) => chain.take(record) !== undefined)) break;
      at = end;
    }
  } catch (failure) {
    if (!isFaultOfRow(failure)) throw failure;
  }
  return chain.revision + 1;
}
