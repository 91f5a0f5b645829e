/**
 * The only writer of a database's rows: takes decided transactions, keeps the rows that follow from them in memory, and
 * writes them in flushes (D3). It does not know constraints or log entries.
 *
 * ```
 *            append / index             flushInto(batch)              flushed()
 * decided ───────────────────► current ─────────────────► in flight ────────────► only in the store
 * ```
 * Everything current or in flight is visible to the next append. At most one flush is in flight.
 */
import { assert, ByteWriter, copyRange, type LogIndex, type Revision, type Term, toLogIndex, toRevision } from '#base';
import { type KvBatch, RECORD } from '#kv';
import type { StoredEventId, TransactionBodyView } from '#model';
import { type Applied, writeApplied } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { keysOfControl } from './control-rows.ts';
import { putRow } from './corruption.ts';
import { IdGiver } from './id-giver.ts';
import type { KeyFilter } from './key-filter.ts';
import { HASH_DOMAIN, KeyHash } from './key-hash.ts';
import type { LiveHead } from './live-head.ts';
import type { SkimmedEvent } from './live-heads.ts';
import { HEADS_KEPT, LiveHeads } from './live-heads.ts';
import { Pending } from './pending.ts';
import { TRANSACTION_ID_BYTES } from './pending-transactions.ts';
import { extraOf, PostingPlace } from './posting.ts';
import type { DatabaseReader } from './reader.ts';
import {
  type ControlKind,
  type ControlRecord,
  controlHash,
  isControl,
  type LogPlace,
  type StoredRecord,
  type StoredTransaction,
} from './record.ts';
import { TransactionSkim } from './transaction-skim.ts';

/** Result of a transaction. */
export interface Appended {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  readonly storedIds: readonly StoredEventId[];
}

export interface WriterOptions {
  readonly reader: DatabaseReader;
  readonly applied: Applied;
  readonly filter: KeyFilter;
  readonly hash: KeyHash;
  readonly headsKept?: number | undefined;
  readonly segmentBytes?: number | undefined;
}

/** A record that begins at least so many bytes after the start of a segment begins the next one. */
const SEGMENT_BYTES = 64 * 1024 * 1024;

interface IndexedTransaction {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly shift: number;
}

/** Shared by all databases without writes, of which a node may have thousands in memory. */
const NOTHING = new Pending();

export class DatabaseWriter {
  readonly heads: LiveHeads;
  readonly #reader: DatabaseReader;
  readonly #ids: IdGiver;
  readonly #events: TransactionSkim;
  readonly #segmentBytes: number;
  readonly #row = new ByteWriter();
  readonly #place = new PostingPlace();
  readonly #filter: KeyFilter;
  readonly #hash = new KeyHash();
  /** Changed in place, so that an entry copies nothing. The heads have the next ids. */
  readonly #state: { -readonly [Name in keyof Applied]: Applied[Name] };
  #current: Pending = NOTHING;
  #inFlight: Pending = NOTHING;
  #isInFlight = false;

  constructor({ reader, applied, filter, hash, headsKept = HEADS_KEPT, segmentBytes }: WriterOptions) {
    this.#reader = reader;
    this.#filter = filter;
    this.heads = new LiveHeads(reader, filter, { nextIds: applied, headsKept });
    this.#ids = new IdGiver(reader, filter, hash);
    this.#events = new TransactionSkim(this.heads);
    this.#segmentBytes = segmentBytes ?? SEGMENT_BYTES;
    this.#state = { ...applied };
  }

  /** The applied state, unflushed entries included. */
  get applied(): Applied {
    return { ...this.#state, ...this.heads.nextIds };
  }

  get revision(): Revision {
    return this.#state.revision;
  }

  get recordedTimeMs(): number {
    return this.#state.recordedTimeMs;
  }

  get index(): LogIndex {
    return this.#state.index;
  }

  /** Bytes of records that wait for the next flush. */
  get unflushedBytes(): number {
    return this.#current.records.byteLength;
  }

  /** Notes that the state includes everything up to this log entry. */
  advance(index: LogIndex, term: Term): void {
    this.#state.index = index;
    this.#state.term = term;
  }

  /** Notes who belongs to the group as of the last entry. */
  adopt(membership: Uint8Array): void {
    this.#state.group = { index: this.#state.index, membership };
  }

  /** The revision that the transaction id of the body is recorded at. */
  recordedRevision({ bytes, transactionIdStart: from }: TransactionBodyView): number | undefined {
    const hash = this.#hashOfTransactionId(bytes, from);
    // An id that is not in the store yet is in the filter, so "surely not" covers both.
    if (!this.#filter.mayHold(hash.high, hash.low)) return undefined;
    return (
      this.#current.transactions.find(hash, bytes, from) ??
      this.#inFlight.transactions.find(hash, bytes, from) ??
      this.#reader.transactionRevision(bytes.subarray(from, from + TRANSACTION_ID_BYTES))
    );
  }

  /**
   * Makes the body the next transaction. A recorded time before that of the last transaction is raised to it, in the
   * copy that is stored (D5).
   */
  append(body: TransactionBodyView): Appended {
    const revision = toRevision(this.#state.revision + 1);
    const recordedTimeMs = Math.max(body.recordedTimeMs, this.#state.recordedTimeMs);
    const stored = bytesToStore(body, recordedTimeMs);
    const events = this.#events;
    events.read(body, recordedTimeMs);
    const current = this.#beginPending();
    this.#ids.giveAll({ revision, bytes: body.bytes, events, current, inFlight: this.#inFlight });

    const eventCount = events.count;
    const storedIds = storedIdsOf(events);
    const chainHash = this.#reader.source.sha256([this.#state.chainHash, stored]);
    const totalEvents = this.#state.totalEvents + eventCount;
    const place = { index: this.#state.index, term: this.#state.term };
    current.records.note(revision, this.#beginRecord());
    const bodyAt = current.records.append({ revision, chainHash, storedIds, totalEvents, body: stored, place });
    this.#indexTransaction(body, { revision, recordedTimeMs, shift: bodyAt - body.start });
    this.#note({ revision, chainHash, recordedTimeMs, totalEvents, end: bodyAt + stored.length });
    return { revision, recordedTimeMs, eventCount, storedIds };
  }

  /** Appends a control record, which raises no revision. */
  appendControl(kind: ControlKind, payload: Uint8Array): void {
    const { records } = this.#beginPending();
    const position = this.#beginRecord();
    const before = { chainHash: this.#state.chainHash, control: this.#state.control };
    const hash = controlHash(this.#reader.source.sha256, before, { kind, payload });
    const place = { index: this.#state.index, term: this.#state.term };
    const end = records.appendControl({ kind, place, revision: this.#state.revision, hash, payload });
    this.#noteControl({ kind, payload, hash, position, end });
  }

  /**
   * Takes the next record of the history, which was checked. It is stored here already, or it came from another replica
   * with its bytes.
   */
  replay(record: StoredRecord, bytes?: Uint8Array): void {
    const { records } = this.#beginPending();
    const start = this.#beginRecord();
    if (bytes !== undefined) records.appendWhole(bytes);
    this.advance(record.place.index, record.place.term);
    if (isControl(record)) this.#noteControl({ ...record, hash: copyRange(record.hash) });
    else {
      records.note(record.revision, start);
      this.#indexStored(record);
    }
  }

  /** Records that the state is that of a snapshot up to here, and the membership of the group then or later. */
  beginLog({ index, term }: LogPlace, group: GroupMark): void {
    this.advance(index, term);
    this.#state.logStart = index;
    // Its entry may have a later index. Until it is applied here, the membership must not be after the applied index.
    this.#state.group = { index: toLogIndex(Math.min(index, group.index)), membership: group.membership };
  }

  /** Puts everything that is not in the store into the batch, the applied row included. */
  flushInto(batch: KvBatch): void {
    this.flushRowsInto(batch);
    this.#row.reset();
    writeApplied(this.#row, this.applied);
    putRow(batch, this.#reader.keys.applied(), this.#row);
  }

  /** The same without the applied row: the state is not to be believed in yet. */
  flushRowsInto(batch: KvBatch): void {
    assert(!this.#isInFlight, 'A flush has reached the store before the next one begins');
    this.#isInFlight = true;
    [this.#current, this.#inFlight] = [this.#inFlight, this.#current];
    const { keys, source } = this.#reader;
    const { records, ids, times, transactions } = this.#inFlight;
    records.flushInto(batch, keys, source.group);
    transactions.flushInto(batch, keys);
    ids.flushInto(batch, keys);
    times.flushInto(batch, keys);
    this.heads.flushInto(batch);
  }

  /** The batch of the last flush has reached the store. */
  flushed(): void {
    assert(this.#isInFlight, 'What reaches the store was flushed before');
    this.#isInFlight = false;
    this.#inFlight.clear();
    this.#events.forget();
    this.heads.flushed();
  }

  /** The pending content of this database, before something is added. */
  #beginPending(): Pending {
    if (this.#current === NOTHING) this.#current = new Pending();
    return this.#current;
  }

  /** Where the next record begins, and maybe a segment. */
  #beginRecord(): number {
    const position = this.#state.end;
    this.#current.records.begin(position);
    if (position > 0 && position < this.#state.segmentStart + this.#segmentBytes) return position;
    this.#state.segmentStart = position;
    this.#current.records.beginSegment({
      position,
      revision: this.#state.revision + 1,
      chainHash: this.#state.chainHash,
      totalEvents: this.#state.totalEvents,
      // Before revision 1 it is when the database was created, which its history does not say.
      recordedTimeMs: this.#state.revision === 0 ? 0 : this.#state.recordedTimeMs,
    });
    return position;
  }

  #noteControl({ kind, payload, hash, position, end }: Omit<ControlRecord, 'place' | 'revision'>): void {
    if (kind === RECORD.DEFINITION) this.#state.definitions += 1;
    const keys = keysOfControl(this.#reader.keys, { kind, payload }, this.#state.definitions);
    for (const key of keys) this.#current.records.noteRow({ key, position });
    this.#state.control = { position, hash };
    this.#state.end = end;
  }

  #indexStored({ view, end, ...transaction }: StoredTransaction): void {
    const { revision, recordedTimeMs, chainHash, totalEvents } = transaction;
    const { body, storedIds } = view;
    const events = this.#events;
    events.read(body, recordedTimeMs);
    for (const { index, id } of storedIds) events.at(index).storedId = id;
    this.#ids.enterAll({ revision, bytes: body.bytes, events, current: this.#current, inFlight: this.#inFlight });
    this.#indexTransaction(body, { revision, recordedTimeMs, shift: transaction.position });
    this.#note({ revision: toRevision(revision), chainHash: copyRange(chainHash), recordedTimeMs, totalEvents, end });
  }

  #note(state: Pick<Applied, 'revision' | 'chainHash' | 'recordedTimeMs' | 'totalEvents' | 'end'>): void {
    this.#state.revision = state.revision;
    this.#state.chainHash = state.chainHash;
    this.#state.recordedTimeMs = state.recordedTimeMs;
    this.#state.totalEvents = state.totalEvents;
    this.#state.end = state.end;
  }

  /** `shift` turns an offset in the bytes that were read into a position in the history. */
  #indexTransaction(body: TransactionBodyView, at: IndexedTransaction): void {
    const entry = this.#place;
    const events = this.#events;
    entry.revision = at.revision;
    for (let index = 0; index < events.count; index++) {
      const event = events.at(index);
      entry.index = index;
      entry.position = event.offset + at.shift;
      entry.seconds = event.seconds;
      entry.nanos = event.nanos;
      entry.extra = extraOf(event, at.recordedTimeMs);
      this.#indexEvent(event);
      this.#current.times.add(entry);
    }
    this.#noteTransactionId(body, at.revision);
  }

  #indexEvent(event: SkimmedEvent): void {
    const { hasSubject, id } = event;
    this.#appendTo(event.source, hasSubject);
    this.#appendTo(event.stream, hasSubject);
    this.#appendTo(event.type, hasSubject);
    this.#appendTo(event.subject, hasSubject);
    this.heads.touchTips(event);
    assert(id !== undefined, 'An event has its id before it is indexed');
    id.position = this.#place.position;
  }

  #appendTo(head: LiveHead, hasSubject: boolean): void {
    const chunk = head.append(this.#place, hasSubject);
    if (chunk !== undefined) this.heads.noteChunk(chunk);
    this.heads.noteChanged(head);
  }

  #noteTransactionId({ bytes, transactionIdStart }: TransactionBodyView, revision: number): void {
    const hash = this.#hashOfTransactionId(bytes, transactionIdStart);
    this.#filter.add(hash.high, hash.low);
    this.#current.transactions.add(hash, bytes, transactionIdStart, revision);
  }

  #hashOfTransactionId(bytes: Uint8Array, from: number): KeyHash {
    this.#hash.start(HASH_DOMAIN.TRANSACTION_ID);
    this.#hash.add(bytes, from, from + TRANSACTION_ID_BYTES);
    this.#hash.finish();
    return this.#hash;
  }
}

/** Offset of the recorded time in a body: 8 bytes, little-endian, after their tag. */
const RECORDED_TIME_AT = 1;

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
