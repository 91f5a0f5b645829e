/**
 * The one writer of a database's rows: takes transactions that are decided, keeps what follows from them in memory, and
 * hands it over in flushes (D3). It knows nothing of constraints and of log entries.
 *
 * ```
 *            append / index             flushInto(batch)              flushed()
 * decided ───────────────────► current ─────────────────► in flight ────────────► only in the store
 * ```
 * Everything current or in flight is visible to what is appended next. There is one flush in flight at most.
 */
import { assert, ByteWriter, type LogIndex, type Revision, type Term, toRevision } from '#base';
import type { KvBatch } from '#kv';
import type { StoredEventId, TransactionBodyView } from '#model';
import { type Applied, writeApplied } from './applied.ts';
import { copyRange } from './bytes-range.ts';
import { IdGiver } from './id-giver.ts';
import type { KeyFilter } from './key-filter.ts';
import type { KeyHash } from './key-hash.ts';
import { DIRECTORY_BLOCK } from './keys.ts';
import type { LiveHead } from './live-head.ts';
import { LiveHeads } from './live-heads.ts';
import { Pending } from './pending.ts';
import { PageDirectory } from './pending-pages.ts';
import { PostingPlace } from './posting.ts';
import type { DatabaseReader } from './reader.ts';
import type { SkimmedEvent } from './skimmed-event.ts';
import { readDirectoryRow, type TransactionRow, writeTransactionRow } from './small-rows.ts';
import { TransactionSkim } from './transaction-skim.ts';

/** What a transaction became. */
export interface Appended {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  readonly storedIds: readonly StoredEventId[];
}

/** A transaction that has its place already: the rebuilding of the index. */
export interface PlacedTransaction {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly pageStart: number;
  /** Its body, read from some bytes; `shift` turns an offset in them into one in the body of the page. */
  readonly body: TransactionBodyView;
  readonly shift: number;
  readonly storedIds: readonly StoredEventId[];
}

export interface WriterOptions {
  readonly reader: DatabaseReader;
  readonly applied: Applied;
  readonly filter: KeyFilter;
  readonly hash: KeyHash;
}

export class DatabaseWriter {
  readonly heads: LiveHeads;
  readonly #reader: DatabaseReader;
  readonly #ids: IdGiver;
  readonly #events: TransactionSkim;
  readonly #directory: PageDirectory;
  readonly #row = new ByteWriter();
  readonly #place = new PostingPlace();
  #applied: Applied;
  #current = new Pending();
  #inFlight = new Pending();
  #isInFlight = false;

  constructor({ reader, applied, filter, hash }: WriterOptions) {
    this.#reader = reader;
    this.#applied = applied;
    this.heads = new LiveHeads(reader, filter, applied);
    this.#ids = new IdGiver(reader, filter, hash);
    this.#events = new TransactionSkim(this.heads);
    this.#directory = openDirectory(reader, applied.revision);
  }

  /** How far the state is, what is not flushed yet included. */
  get applied(): Applied {
    return { ...this.#applied, ...this.heads.nextIds };
  }

  get revision(): Revision {
    return this.#applied.revision;
  }

  get index(): LogIndex {
    return this.#applied.index;
  }

  /** Bytes of transactions that wait for the next flush. */
  get unflushedBytes(): number {
    return this.#current.pages.byteLength;
  }

  /** Notes that the state includes everything up to this log entry. */
  advance(index: LogIndex, term: Term): void {
    this.#applied = { ...this.#applied, index, term };
  }

  /**
   * Makes the body the next transaction. A recorded time before that of the last transaction is
   * raised to it, in the copy that is stored (D5).
   */
  append(body: TransactionBodyView): Appended {
    const applied = this.#applied;
    const revision = toRevision(applied.revision + 1);
    const recordedTimeMs = Math.max(body.recordedTimeMs, applied.recordedTimeMs);
    const stored = bytesToStore(body, recordedTimeMs);
    const events = this.#events;
    events.read(body, recordedTimeMs);
    this.#ids.giveAll({ revision, bytes: body.bytes, events, current: this.#current, inFlight: this.#inFlight });

    const eventCount = events.count;
    const storedIds = storedIdsOf(events);
    const chainHash = this.#reader.source.sha256([applied.chainHash, stored]);
    const totalEvents = applied.totalEvents + eventCount;
    const record = { revision, chainHash, storedIds, totalEvents, recordedTimeMs, eventCount, body: stored };
    const { pageStart, offset } = this.#current.pages.append(record);
    this.#indexTransaction({ revision, pageStart, shift: offset - body.start });
    this.#noteTransactionId(body, { revision, pageOffset: revision - pageStart });
    this.#applied = { ...applied, revision, chainHash, recordedTimeMs, totalEvents };
    return { revision, recordedTimeMs, eventCount, storedIds };
  }

  /** Writes what follows from a transaction that stands in its page already. */
  indexPlaced(transaction: PlacedTransaction): void {
    const { revision, body, pageStart, shift } = transaction;
    const events = this.#events;
    events.read(body, transaction.recordedTimeMs);
    for (const { index, id } of transaction.storedIds) events.at(index).storedId = id;
    this.#ids.enterAll({ revision, bytes: body.bytes, events, current: this.#current, inFlight: this.#inFlight });
    this.#directory.add(pageStart);
    this.#indexTransaction({ revision, pageStart, shift });
    this.#noteTransactionId(body, { revision, pageOffset: revision - pageStart });
  }

  /** The revision of a transaction id that has been appended and may not have reached the store yet. */
  pendingRevision(transactionId: string): number | undefined {
    const row = this.#current.transactions.get(transactionId) ?? this.#inFlight.transactions.get(transactionId);
    return row?.revision;
  }

  /** Goes on from this state: the rows that it counts are in the store, or in the next flush. */
  resume(applied: Applied): void {
    this.#applied = applied;
  }

  /** Puts everything that is not in the store into the batch, the applied row included. */
  flushInto(batch: KvBatch): void {
    this.flushRowsInto(batch);
    this.#row.reset();
    writeApplied(this.#row, this.applied);
    batch.put(this.#reader.keys.applied(), this.#row.view());
  }

  /** The same without the applied row: the state is not to be believed in yet. */
  flushRowsInto(batch: KvBatch): void {
    assert(!this.#isInFlight, 'A flush has reached the store before the next one begins');
    this.#isInFlight = true;
    [this.#current, this.#inFlight] = [this.#inFlight, this.#current];
    const { keys, source } = this.#reader;
    const { pages, ids, times, transactions } = this.#inFlight;
    pages.flushInto(batch, keys, this.#directory, source.crc32);
    this.#directory.flushInto(batch, keys);
    for (const [id, row] of transactions) {
      this.#row.reset();
      writeTransactionRow(this.#row, row);
      batch.put(keys.transaction(bytesOfId(id)), this.#row.view());
    }
    ids.flushInto(batch, keys);
    times.flushInto(batch, keys);
    this.heads.flushInto(batch);
  }

  /** The batch of the last flush has reached the store. */
  flushed(): void {
    assert(this.#isInFlight, 'What reaches the store was flushed before');
    this.#isInFlight = false;
    this.#inFlight.clear();
    this.heads.flushed();
  }

  /** `shift` turns an offset in the bytes that were read into one in the body of the page. */
  #indexTransaction(at: { readonly revision: number; readonly pageStart: number; readonly shift: number }): void {
    const entry = this.#place;
    const events = this.#events;
    entry.revision = at.revision;
    entry.pageOffset = at.revision - at.pageStart;
    for (let index = 0; index < events.count; index++) {
      const event = events.at(index);
      entry.index = index;
      entry.offset = event.offset + at.shift;
      entry.seconds = event.seconds;
      entry.nanos = event.nanos;
      this.#indexEvent(event);
      this.#current.times.add(at.pageStart, entry);
    }
  }

  #indexEvent(event: SkimmedEvent): void {
    const { hasSubject, id } = event;
    this.#appendTo(event.source, hasSubject);
    this.#appendTo(event.stream, hasSubject);
    this.#appendTo(event.type, hasSubject);
    this.#appendTo(event.subject, hasSubject);
    this.heads.touchTips(event);
    assert(id !== undefined, 'An event has its id before it is indexed');
    id.pageOffset = this.#place.pageOffset;
    id.offset = this.#place.offset;
  }

  #appendTo(head: LiveHead, hasSubject: boolean): void {
    const chunk = head.append(this.#place, hasSubject);
    if (chunk !== undefined) this.heads.noteChunk(chunk);
    this.heads.noteChanged(head);
  }

  #noteTransactionId(body: TransactionBodyView, row: TransactionRow): void {
    this.#current.transactions.set(idText(body.bytes, body.transactionIdStart), row);
  }
}

const ID_BYTES = 16;
/** Where the recorded time stands in a body: 8 bytes, little-endian, behind their tag. */
const RECORDED_TIME_AT = 1;

/** The 16 bytes of a transaction id at `from`, as 16 characters: a key for maps. */
export function idText(bytes: Uint8Array, from: number): string {
  let text = '';
  for (let at = from; at < from + ID_BYTES; at++) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}

function bytesOfId(text: string): Uint8Array {
  return Uint8Array.from({ length: ID_BYTES }, (_, at) => text.charCodeAt(at));
}

function storedIdsOf(events: TransactionSkim): readonly StoredEventId[] {
  const storedIds: StoredEventId[] = [];
  for (let index = 0; index < events.count; index++) {
    const { storedId } = events.at(index);
    if (storedId !== undefined) storedIds.push({ index, id: storedId });
  }
  return storedIds;
}

function bytesToStore(body: TransactionBodyView, recordedTimeMs: number): Uint8Array {
  const bytes = body.bytes.subarray(body.start, body.end);
  if (body.recordedTimeMs === recordedTimeMs) return bytes;
  const stamp = new ByteWriter(8);
  stamp.u64le(recordedTimeMs);
  const stamped = copyRange(bytes);
  stamped.set(stamp.view(), RECORDED_TIME_AT);
  return stamped;
}

function openDirectory(reader: DatabaseReader, revision: number): PageDirectory {
  const block = Math.floor(revision / DIRECTORY_BLOCK);
  const key = reader.keys.directory(block);
  const value = reader.source.kv.get(key);
  return new PageDirectory(block, value === undefined ? undefined : readDirectoryRow(key, value));
}
