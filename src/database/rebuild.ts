/**
 * Rebuilds the rows of a database from its history up to a durable point, after a crash that left a gap above it.
 *
 * 1. The history is cut at the durable point. It is then shorter than the applied row says, so a crash during the
 *    rebuild is noticed at the next start, which begins again.
 * 2. The rows are deleted.
 * 3. Each record writes its rows by the code that wrote them the first time, and the applied row is written last.
 *
 * Log entries above the durable index are then applied like new ones. A state that already held some of them would
 * decide them differently (D11).
 */
import type { KvBatch, KvWriter } from '#kv';
import type { Applied } from './applied.ts';
import { HistoryChain } from './chain.ts';
import { unexpectedRecord, unexpectedRow } from './corruption.ts';
import { DatabaseWriter } from './database-writer.ts';
import { newDatabase } from './facts.ts';
import { KeyFilter } from './key-filter.ts';
import { KeyHash } from './key-hash.ts';
import { TABLE } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { type DurablePoint, durableEnd } from './verify.ts';
import { walkHistory } from './walks.ts';

/** Bytes of records that are indexed between two writes. */
const SLICE_BYTES = 4 * 1024 * 1024;
const FILTER_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The history is durable up to `synced`, which is not before the durable point. Nothing else may read or write the
 * group meanwhile. Throws when a durable record is missing or not whole. `segmentBytes` as in `MachineOptions`.
 */
export async function rebuildDerived(
  store: KvWriter,
  source: DatabaseSource,
  durable: DurablePoint & { readonly synced: number },
  segmentBytes?: number,
): Promise<void> {
  const reader = new DatabaseReader(source);
  const { keys } = reader;
  const applied = reader.applied();
  if (applied === undefined) throw unexpectedRow(keys.applied(), 'the applied row is missing');
  const end = durableEnd(source, durable, durable.synced);
  await store.cutHistory(source.group, end);
  // Without the position of the durable revision its end could not be found again.
  const positions = keys.positions(durable.revision + 1, Number.MAX_SAFE_INTEGER);
  for (const { gte, lt } of [positions, keys.tables(TABLE.APPLIED + 1, TABLE.POSITION)]) await store.clear(gte, lt);
  const { group: known, ...identity } = applied;
  // Who belongs to the group was decided for good, even where the state goes back behind that. What came as a snapshot
  // from beyond the durable point has no place in this log, which holds nothing of it, or something else.
  const isLogged = applied.logStart <= durable.index;
  const group = isLogged || known.index <= durable.index ? known : { ...known, index: durable.index };
  const { membership } = group;
  const start = { ...newDatabase(source.sha256, { ...identity, membership }), group };
  await indexHistory({ store, source, start, segmentBytes }, durable, end);
}

interface Rebuild {
  readonly store: KvWriter;
  readonly source: DatabaseSource;
  /** The state at revision 0. */
  readonly start: Applied;
  readonly segmentBytes: number | undefined;
}

async function indexHistory(
  { store, source, start, segmentBytes }: Rebuild,
  durable: DurablePoint,
  end: number,
): Promise<void> {
  // There are no rows, so the filter knows them all.
  const filter = new KeyFilter(FILTER_BYTES_MAX);
  filter.complete();
  const reader = new DatabaseReader(source);
  const writer = new DatabaseWriter({ reader, applied: start, filter, hash: new KeyHash(), segmentBytes });
  const chain = new HistoryChain(source.sha256, start);
  const write = async (flushInto: (batch: KvBatch) => void): Promise<void> => {
    const batch = store.batch();
    flushInto(batch);
    await store.write(batch);
    writer.flushed();
  };
  let written = 0;
  for await (const records of walkHistory(new DatabaseReader(source, { lends: true }), { from: 0, to: end })) {
    for (const record of records) {
      const fault = chain.take(record);
      if (fault !== undefined) throw unexpectedRecord(source.group, record.position, fault);
      writer.replay(record);
    }
    const { applied } = writer;
    if (applied.end - written < SLICE_BYTES) continue;
    await write((batch) => writer.flushRowsInto(batch));
    written = applied.end;
  }
  if (chain.revision !== durable.revision) {
    const fault = `the history ends with revision ${chain.revision}, before ${durable.revision}`;
    throw unexpectedRecord(source.group, end, fault);
  }
  writer.advance(durable.index, durable.term);
  await write((batch) => writer.flushInto(batch));
}
