/**
 * Makes a database anew from its pages up to a durable revision: after a crash that left a gap above it.
 *
 * Pages above the durable revision go first, so that a crash in the middle is noticed and the work done again; then all
 * derived rows; then the pages are walked and every row that follows from them is written, by the very code that wrote
 * it the first time; the applied row comes last. Log entries above the durable index are then applied as if they were
 * new: deciding them over a state that already holds some of them would give other outcomes (D11).
 */
import { assert, type LogIndex, parseHex, type Revision, type Term, toRevision } from '#base';
import type { KvBatch, KvWriter } from '#kv';
import type { Applied, DefinitionMark } from './applied.ts';
import { unexpectedRow } from './corruption.ts';
import { DatabaseWriter } from './database-writer.ts';
import { newDatabase } from './facts.ts';
import { KeyFilter } from './key-filter.ts';
import { KeyHash } from './key-hash.ts';
import { TABLE } from './keys.ts';
import { Page } from './page.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { definitionsUpTo, loadLedger, partKeys, partKeysOf } from './stored-definitions.ts';
import { takeRefusalsBack, writeRefusalPlaces } from './stored-refusals.ts';
import { ChainCheck } from './verify.ts';
import { slices } from './walks.ts';

/** Everything up to here is durable. */
export interface DurablePoint {
  readonly index: LogIndex;
  readonly term: Term;
  readonly revision: Revision;
}

/** Bytes of pages that are indexed between two writes. */
const SLICE_BYTES = 4 * 1024 * 1024;
const FILTER_BYTES_MAX = 64 * 1024 * 1024;

/** Nothing else may read or write the group meanwhile. Throws when a durable page is missing or not whole. */
export async function rebuildDerived(store: KvWriter, source: DatabaseSource, durable: DurablePoint): Promise<void> {
  const reader = new DatabaseReader(source);
  const applied = reader.applied();
  if (applied === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
  const { keys } = reader;
  const above = keys.pages(durable.revision + 1, Number.MAX_SAFE_INTEGER);
  await store.clear(above.gte, above.lt);
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
  await new Rebuild(store, reader, start).run(durable);
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

class Rebuild {
  readonly #store: KvWriter;
  readonly #reader: DatabaseReader;
  readonly #writer: DatabaseWriter;
  readonly #chain: ChainCheck;
  #applied: Applied;
  #sliceBytes = 0;

  constructor(store: KvWriter, reader: DatabaseReader, start: Applied) {
    this.#store = store;
    this.#reader = reader;
    this.#applied = start;
    this.#chain = new ChainCheck(reader, 0, start.chainHash);
    // There are no derived rows, so the filter knows them all.
    const filter = new KeyFilter(FILTER_BYTES_MAX);
    filter.complete();
    this.#writer = new DatabaseWriter({ reader, applied: start, filter, hash: new KeyHash() });
  }

  async run(durable: DurablePoint): Promise<void> {
    const range = this.#reader.source.kv.range(this.#reader.keys.pages(1, durable.revision + 1));
    for await (const rows of slices(range)) {
      for (const { key, value } of rows) {
        this.#take(new Page(key, value, this.#reader.source.crc32));
        this.#sliceBytes += value.length;
        if (this.#sliceBytes >= SLICE_BYTES) await this.#write((batch) => this.#writer.flushRowsInto(batch));
      }
    }
    const { revision } = this.#applied;
    if (revision !== durable.revision) {
      throw unexpectedRow(this.#reader.keys.page(revision + 1), 'a durable page is missing');
    }
    this.#writer.resume({ ...this.#applied, index: durable.index, term: durable.term });
    await this.#write((batch) => this.#writer.flushInto(batch));
  }

  #take(page: Page): void {
    const fault = this.#chain.takePage(page);
    if (fault !== undefined) throw page.unexpected(fault);
    const records = page.records();
    for (const [place, transaction] of this.#reader.transactions(page).entries()) {
      const { revision, recordedTimeMs, view, totalEvents } = transaction;
      const shift = records[place]?.start;
      assert(shift !== undefined, 'A page has a record for each of its transactions', revision);
      const pageStart = page.firstRevision;
      const { body, storedIds } = view;
      this.#writer.indexPlaced({ revision, recordedTimeMs, pageStart, body, shift, storedIds });
      const chainHash = this.#chain.hash;
      this.#applied = { ...this.#applied, revision: toRevision(revision), recordedTimeMs, totalEvents, chainHash };
    }
  }

  async #write(flushInto: (batch: KvBatch) => void): Promise<void> {
    const batch = this.#store.batch();
    flushInto(batch);
    await this.#store.write(batch);
    this.#writer.flushed();
    this.#sliceBytes = 0;
  }
}
