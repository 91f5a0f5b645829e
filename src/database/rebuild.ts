/**
 * Makes a database anew from its history up to a durable revision: after a crash that left a gap above it.
 *
 * What is above the durable revision goes first, so that a crash in the middle is noticed and the work done again; then
 * all derived rows; then the history is walked and every row that follows from it is written, by the very code that
 * wrote it the first time; the applied row comes last. Log entries above the durable index are then applied as if they
 * were new: deciding them over a state that already holds some of them would give other outcomes (D11).
 */
import { type LogIndex, parseHex, type Revision, type Term } from '#base';
import type { KvBatch, KvWriter } from '#kv';
import type { Applied, DefinitionMark } from './applied.ts';
import { unexpectedRecord, unexpectedRow } from './corruption.ts';
import { DatabaseWriter } from './database-writer.ts';
import { newDatabase } from './facts.ts';
import { KeyFilter } from './key-filter.ts';
import { KeyHash } from './key-hash.ts';
import { TABLE } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { definitionsUpTo, loadLedger, partKeys, partKeysOf } from './stored-definitions.ts';
import { takeRefusalsBack, writeRefusalPlaces } from './stored-refusals.ts';
import { ChainCheck, durableHead } from './verify.ts';
import { walkHistory } from './walks.ts';

/** Everything up to here is durable. */
export interface DurablePoint {
  readonly index: LogIndex;
  readonly term: Term;
  readonly revision: Revision;
}

/** Bytes of records that are indexed between two writes. */
const SLICE_BYTES = 4 * 1024 * 1024;
const FILTER_BYTES_MAX = 64 * 1024 * 1024;

/** Nothing else may read or write the group meanwhile. Throws when a durable record is missing or not whole. */
export async function rebuildDerived(store: KvWriter, source: DatabaseSource, durable: DurablePoint): Promise<void> {
  const reader = new DatabaseReader(source, { lends: true });
  const applied = reader.applied();
  if (applied === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
  const { keys } = reader;
  const end = durable.revision === 0 ? 0 : durableHead(source, durable.revision).end;
  const above = keys.positions(durable.revision + 1, Number.MAX_SAFE_INTEGER);
  await store.clear(above.gte, above.lt);
  await store.cutHistory(source.group, end);
  const definitions = await rebuildDefinitions(store, reader, durable.index);
  const refusals = await takeRefusalsBack(store, reader, durable.index);
  const derived = keys.tables(TABLE.TRANSACTION, TABLE.DEFINITION);
  await store.clear(derived.gte, derived.lt);
  await writeRefusalPlaces(store, reader);
  const { group: known, ...identity } = applied;
  // Who belongs to the group was decided for good, even where the state goes back behind that. What came as a snapshot
  // from beyond the durable point has no place in this log, which holds nothing of it, or something else.
  const isLogged = applied.logStart <= durable.index;
  const group = isLogged || known.index <= durable.index ? known : { ...known, index: durable.index };
  const start = {
    ...newDatabase(source.sha256, { ...identity, membership: group.membership }),
    group,
    definitions,
    refusals,
  };
  await indexHistory({ store, reader, start }, durable, end);
}

/**
 * Takes the definitions back: records above the durable entry go, and with them the parts that came behind it. A part
 * that was removed behind it stays away; the log removes it once more.
 */
async function rebuildDefinitions(store: KvWriter, reader: DatabaseReader, index: LogIndex): Promise<DefinitionMark> {
  const { keys } = reader;
  const above = keys.definitions(index + 1, Number.MAX_SAFE_INTEGER);
  await store.clear(above.gte, above.lt);
  const mark = await definitionsUpTo(reader, index);
  const wanted = partKeysOf(reader, loadLedger(reader, mark));
  const batch = store.batch();
  for (const key of await partKeys(reader)) {
    const bytes = wanted.has(key) ? undefined : parseHex(key);
    if (bytes !== undefined) batch.del(bytes);
  }
  if (batch.count > 0) await store.write(batch);
  return mark;
}

interface Rebuild {
  readonly store: KvWriter;
  readonly reader: DatabaseReader;
  /** The state at revision 0. */
  readonly start: Applied;
}

async function indexHistory({ store, reader, start }: Rebuild, durable: DurablePoint, end: number): Promise<void> {
  const { sha256, group } = reader.source;
  // There are no derived rows, so the filter knows them all.
  const filter = new KeyFilter(FILTER_BYTES_MAX);
  filter.complete();
  const writer = new DatabaseWriter({
    reader: new DatabaseReader(reader.source),
    applied: start,
    filter,
    hash: new KeyHash(),
  });
  const chain = new ChainCheck(sha256, 0, start.chainHash);
  const write = async (flushInto: (batch: KvBatch) => void): Promise<void> => {
    const batch = store.batch();
    flushInto(batch);
    await store.write(batch);
    writer.flushed();
  };
  let written = 0;
  for await (const slice of walkHistory(reader, { from: 0, to: end })) {
    for (const transaction of slice.transactions) {
      const fault = chain.take(transaction);
      if (fault !== undefined) throw unexpectedRecord(group, transaction.position, fault);
      writer.indexStored(transaction);
    }
    if (slice.end - written < SLICE_BYTES) continue;
    await write((batch) => writer.flushRowsInto(batch));
    written = slice.end;
  }
  if (chain.revision !== durable.revision) {
    throw unexpectedRecord(group, end, `the history ends with revision ${chain.revision}, before ${durable.revision}`);
  }
  writer.advance(durable.index, durable.term);
  await write((batch) => writer.flushInto(batch));
}
