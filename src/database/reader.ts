/**
 * What one reader may see of one database: rows, each by one synchronous get, and the records of its history.
 *
 * A reader runs at a revision that it has chosen and the node has applied. It needs no snapshot (D7): rows and records
 * of that revision and below never change, and those above it are recognised and left out. Everything that it reads
 * has a checksum, which is verified. It throws `CorruptRecord` for what fails that, `UnexpectedRow` for what is missing
 * or not what was looked for; it never repairs and never writes.
 */
import { ByteReader, type GroupId, type Sha256, toRevision } from '#base';
import type { HistoryRange, KvReader } from '#kv';
import type { Position } from '#model';
import { type Applied, readAppliedRow } from './applied.ts';
import { unexpectedRecord, unexpectedRow } from './corruption.ts';
import { type HeadContent, readHead } from './head.ts';
import { HistoryBytes } from './history-bytes.ts';
import { type HeadName, RowKeys } from './keys.ts';
import type { EventPlace, PostingEntry } from './posting.ts';
import {
  type ControlRecord,
  controlLength,
  type LogPlace,
  RECORD_BYTES_MIN,
  readBody,
  readControlHead,
  readFrame,
  readRecordHead,
  readRecords,
  readTransaction,
  recordLength,
  type StoredRecord,
  type StoredTransaction,
  type TransactionHead,
} from './record.ts';
import { readPositionRow, readTipRow, readTransactionRow, type TipRow } from './small-rows.ts';

/** Where to read: the store, the group, and the digest that native code computes best. */
export interface DatabaseSource {
  readonly kv: KvReader;
  readonly group: GroupId;
  readonly sha256: Sha256;
  /** Stands for this replica: readers that lend share what they read of it (D18). Absent: they share nothing. */
  readonly owner?: object | undefined;
}

/** An event as it is stored. */
export interface StoredEvent {
  readonly position: Position;
  readonly recordedTimeMs: number;
  /** Canonical wire form: a view of what was read. */
  readonly bytes: Uint8Array;
  /** The id it is known by, when that is not the one in `bytes`. */
  readonly storedId?: string;
}

/** Whole records of a history, one behind the other. */
export interface RecordSlice {
  readonly records: readonly StoredRecord[];
  /** The records themselves. */
  readonly bytes: Uint8Array;
  /** Position behind the last of them. */
  readonly end: number;
}

export interface ReaderOptions {
  /**
   * True: what was read from the history is valid until `release`, and its memory is used again. Default false: it
   * stays as long as it is referenced.
   */
  readonly lends?: boolean | undefined;
}

/** The shortest event is longer: it has an id, a specversion, a type and a source. */
const EVENT_BYTES_MIN = 8;
const LENGTH_BYTES_MAX = 5;

export class DatabaseReader {
  readonly source: DatabaseSource;
  readonly keys: RowKeys;
  readonly #history: HistoryBytes;
  /** What was read last: neighbouring events mostly share it. */
  #head: TransactionHead | undefined;
  #transaction: StoredTransaction | undefined;

  constructor(source: DatabaseSource, { lends = false }: ReaderOptions = {}) {
    this.source = source;
    this.keys = new RowKeys(source.group);
    this.#history = new HistoryBytes({ ...source, lends });
  }

  /** How far the rows are; undefined when the group has none. */
  applied(): Applied | undefined {
    const key = this.keys.applied();
    const value = this.source.kv.get(key);
    const applied = value === undefined ? undefined : readAppliedRow(key, value);
    this.#history.noteEnd(applied?.end ?? 0);
    return applied;
  }

  head(name: HeadName): HeadContent | undefined {
    const key = this.keys.head(name);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readHead(name, key, value);
  }

  /** The tip row of a spilled head. */
  tip(name: HeadName, mask: number, ids: readonly number[]): TipRow | undefined {
    const key = this.keys.tip(name, mask, ids);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readTipRow(key, value);
  }

  /** The revision that a transaction id was committed at; undefined when it is not recorded. */
  transactionRevision(transactionId: Uint8Array): number | undefined {
    const key = this.keys.transaction(transactionId);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : toRevision(readTransactionRow(key, value));
  }

  /** The position in a row that has nothing else; undefined when there is no such row. */
  positionIn(key: Uint8Array): number | undefined {
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readPositionRow(key, value);
  }

  /** Position of the record of a revision, which is applied and not 0; of the one after all, the end of the history. */
  start(revision: number): number {
    const found = this.positionIn(this.keys.position(revision));
    if (found !== undefined) return found;
    const applied = this.applied();
    if (applied !== undefined && applied.revision === revision - 1) return applied.end;
    // It may have been applied just now.
    const start = this.positionIn(this.keys.position(revision));
    if (start === undefined) throw unexpectedRow(this.keys.position(revision), 'the position of a record is missing');
    return start;
  }

  /** The transaction of a revision that is applied and not 0, without its events: a large one costs no more. */
  transactionHead(revision: number): TransactionHead {
    if (this.#head?.revision !== revision) this.#head = this.#readHead(revision);
    return this.#head;
  }

  /** As `transactionHead`, but this thread does not wait for the disk. */
  async headLater(revision: number): Promise<TransactionHead> {
    const start = this.start(revision);
    await this.#history.gather([{ position: start, least: RECORD_BYTES_MIN }], (_, bytes) => {
      const found = this.#headIn(bytes, start, revision);
      if (typeof found === 'number') return found;
      this.#head = found;
      return 0;
    });
    return this.transactionHead(revision);
  }

  /** The transaction of a revision that is applied and not 0. */
  transaction(revision: number): StoredTransaction {
    if (this.#transaction?.revision === revision) return this.#transaction;
    const head = this.transactionHead(revision);
    const byteLength = head.end - head.position;
    this.#transaction = readBody(head, this.#history.at(head.position, byteLength).subarray(0, byteLength));
    return this.#transaction;
  }

  /** The event at a position; undefined when its transaction has fewer events. The revision is applied and not 0. */
  eventAt(position: Position): StoredEvent | undefined {
    const transaction = this.transaction(position.revision);
    return position.index < transaction.eventCount ? eventOfTransaction(transaction, position.index) : undefined;
  }

  /** The event at a place that a row gave. */
  eventIn(place: EventPlace): StoredEvent {
    return storedEvent(place, this.transactionHead(place.revision), this.#event(place));
  }

  /** The event of a posting entry, read on this thread. */
  eventOf(entry: PostingEntry): StoredEvent {
    if (entry.hasStoredId) return this.eventIn(entry);
    return storedEvent(entry, entry, this.#event(entry));
  }

  /**
   * The events of posting entries, in their order, read all at once: a promise where that takes the disk. Ends before a
   * long event that is not the first and has no room in so many bytes.
   */
  eventsOf(
    entries: readonly PostingEntry[],
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): readonly StoredEvent[] | Promise<readonly StoredEvent[]> {
    const withHead = entries.filter(({ hasStoredId }) => hasStoredId);
    const wanted = [
      ...entries.map(({ position }) => ({ position, least: EVENT_BYTES_MIN })),
      ...withHead.map(({ revision }) => ({ position: this.start(revision), least: RECORD_BYTES_MIN })),
    ];
    const events: Uint8Array[] = [];
    const heads = new Map<number, TransactionHead>();
    let bytesLeft = bytesMax;
    const read = this.#history.gather(wanted, (place, bytes) => {
      const entry = entries[place];
      const revision = withHead[place - entries.length]?.revision ?? 0;
      const at = wanted[place]?.position ?? 0;
      const found = entry === undefined ? this.#headIn(bytes, at, revision) : this.#eventIn(bytes, at);
      if (typeof found === 'number') {
        bytesLeft -= found;
        return bytesLeft < 0 && place > 0 && entry !== undefined ? 0 : found;
      }
      if (found instanceof Uint8Array) events[place] = found;
      else heads.set(revision, found);
      return 0;
    });
    const all = (): readonly StoredEvent[] => {
      const end = entries.findIndex((_, place) => events[place] === undefined);
      const whole = end < 0 ? entries : entries.slice(0, end);
      return whole.map((entry, place) =>
        storedEvent(entry, heads.get(entry.revision) ?? entry, events[place] ?? NO_BYTES),
      );
    };
    return read === undefined ? all() : read.then(all);
  }

  /**
   * The transactions from position `from` on, where one begins, to `to`, where a record ends: about so many bytes of
   * them, and one at least. They have no gap. Control records between them are passed over, and a long one is not read.
   */
  transactions(
    { from, to }: HistoryRange,
    bytes: number,
  ): readonly StoredTransaction[] | Promise<readonly StoredTransaction[]> {
    if (from >= to) return [];
    return this.#read({ from, to }, bytes, (all, wanted) => this.#cut(all, { from, bytes: wanted }));
  }

  /** Whole records of every kind, in the same way: at most so many bytes of them, but one at least. */
  async records({ from, to }: HistoryRange, bytes: number): Promise<RecordSlice> {
    return this.#read({ from, to }, bytes, (all, wanted) => {
      const records = readRecords(all.subarray(0, wanted), from);
      if (typeof records === 'string') throw unexpectedRecord(this.source.group, from, records);
      const end = records?.at(-1)?.end ?? from;
      return records && { records, bytes: all.subarray(0, end - from), end };
    });
  }

  /** The control record at a position, perhaps without the bytes of the part of a component: on this thread. */
  controlAt(position: number): ControlRecord {
    for (let least = RECORD_BYTES_MIN; ; ) {
      const found = this.#controlIn(this.#history.at(position, least), position);
      if (typeof found !== 'number') return found;
      least = found;
    }
  }

  /** The same for several positions, read all at once. */
  async controlsAt(positions: readonly number[]): Promise<readonly ControlRecord[]> {
    const records: ControlRecord[] = [];
    const wanted = positions.map((position) => ({ position, least: RECORD_BYTES_MIN }));
    await this.#history.gather(wanted, (place, bytes) => {
      const found = this.#controlIn(bytes, positions[place] ?? 0);
      if (typeof found === 'number') return found;
      records[place] = found;
      return 0;
    });
    return records;
  }

  /** Place and end of the record at a position, in a history that has whole records up to `to`. */
  frameAt(position: number, to: number): { readonly place: LogPlace; readonly end: number } {
    const frame = readFrame(this.#history.at(position, Math.min(RECORD_BYTES_MIN, to - position)), 0, position);
    if (typeof frame === 'object' && position + frame.to <= to) return { ...frame, end: position + frame.to };
    throw unexpectedRecord(this.source.group, position, typeof frame === 'string' ? frame : `it ends behind ${to}`);
  }

  /** Ends the use of all bytes that a lending reader has read from the history (D12). */
  release(): void {
    this.#history.release();
    this.#head = undefined;
    this.#transaction = undefined;
  }

  #readHead(revision: number): TransactionHead {
    const start = this.start(revision);
    for (let least = RECORD_BYTES_MIN; ; ) {
      const found = this.#headIn(this.#history.at(start, least), start, revision);
      if (typeof found !== 'number') return found;
      least = found;
    }
  }

  /** The head of the record that the bytes begin with, or how many bytes are needed for it. */
  #headIn(bytes: Uint8Array, start: number, revision: number): TransactionHead | number {
    const head = readRecordHead(bytes, 0, start);
    // What precedes the events is nearly always read along; otherwise the whole record is.
    if (head === undefined) return recordLength(bytes, 0) ?? RECORD_BYTES_MIN;
    if (typeof head === 'string') throw unexpectedRecord(this.source.group, start, head);
    if (head.revision === revision) return head;
    throw unexpectedRecord(this.source.group, start, `it is revision ${head.revision}, and not ${revision}`);
  }

  #event({ position }: EventPlace): Uint8Array {
    for (let least = EVENT_BYTES_MIN; ; ) {
      const found = this.#eventIn(this.#history.at(position, least), position);
      if (typeof found !== 'number') return found;
      least = found;
    }
  }

  /** The event whose length the bytes begin with, or how many bytes are needed for it. */
  #eventIn(bytes: Uint8Array, position: number): Uint8Array | number {
    const reader = new ByteReader(bytes, 0, Math.min(LENGTH_BYTES_MAX, bytes.length));
    const length = reader.varint();
    if (length === 0) throw unexpectedRecord(this.source.group, position, 'no event is there');
    const end = reader.at + length;
    return end <= bytes.length ? bytes.subarray(reader.at, end) : end;
  }

  /** The control record that the bytes begin with, or how many bytes are needed for it. */
  #controlIn(bytes: Uint8Array, position: number): ControlRecord | number {
    const found = readControlHead(bytes, 0, position);
    if (typeof found === 'object') return found;
    const length = recordLength(bytes, 0) ?? 0;
    const isCut = found === undefined && length > bytes.length && position + length <= this.#history.end;
    if (isCut) return length;
    throw unexpectedRecord(this.source.group, position, found ?? 'no record begins there');
  }

  /** Reads about so many bytes from the start of the range; again and more if `cut` finds nothing whole in them. */
  #read<Slice>(
    { from, to }: HistoryRange,
    bytes: number,
    cut: (all: Uint8Array, wanted: number) => Slice | undefined,
  ): Slice | Promise<Slice> {
    const wanted = Math.min(to - from, Math.max(bytes, RECORD_BYTES_MIN));
    const read = this.#history.range({ from, to: from + wanted });
    const take = (all: Uint8Array): Slice | Promise<Slice> =>
      cut(all.subarray(0, to - from), wanted) ?? this.#read({ from, to }, this.#firstLength(all, { from, to }), cut);
    return read instanceof Promise ? read.then(take) : take(read);
  }

  /** Undefined when the first transaction is longer than `all`. */
  #cut(
    all: Uint8Array,
    wanted: { readonly from: number; readonly bytes: number },
  ): readonly StoredTransaction[] | undefined {
    const transactions: StoredTransaction[] = [];
    let at = 0;
    while (at < all.length && at < wanted.bytes) {
      const position = wanted.from + at;
      const skipped = at === 0 ? 0 : controlLength(all, at);
      if (skipped > 0) {
        at += skipped;
        continue;
      }
      const found = readTransaction(all, at, wanted.from);
      if (typeof found === 'string' && transactions.length === 0)
        throw unexpectedRecord(this.source.group, position, found);
      if (typeof found !== 'object') break;
      at = found.end - wanted.from;
      const before = transactions.at(-1);
      if (before !== undefined && found.revision !== before.revision + 1) {
        const fault = `it is revision ${found.revision}, and the one before is ${before.revision}`;
        throw unexpectedRecord(this.source.group, position, fault);
      }
      transactions.push(found);
    }
    return transactions.length > 0 ? transactions : undefined;
  }

  #firstLength(bytes: Uint8Array, { from, to }: HistoryRange): number {
    const length = recordLength(bytes, 0) ?? Number.POSITIVE_INFINITY;
    if (from + length <= to) return length;
    throw unexpectedRecord(this.source.group, from, `it ends behind ${to}`);
  }
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

/** The events of a transaction, in order. */
export function eventsOf(transaction: StoredTransaction): readonly StoredEvent[] {
  return transaction.view.body.eventStarts.map((_, index) => eventOfTransaction(transaction, index));
}

function eventOfTransaction(transaction: StoredTransaction, index: number): StoredEvent {
  const { revision, bytes, view } = transaction;
  const event = bytes.subarray(view.body.eventStarts[index], view.body.eventEnds[index]);
  return storedEvent({ revision, index }, transaction, event);
}

function storedEvent(
  { revision, index }: Position,
  { recordedTimeMs, storedIds }: Pick<TransactionHead, 'recordedTimeMs'> & Partial<TransactionHead>,
  bytes: Uint8Array,
): StoredEvent {
  const event = { position: { revision, index }, recordedTimeMs, bytes };
  const storedId = storedIds?.find((stored) => stored.index === index)?.id;
  return storedId === undefined ? event : { ...event, storedId };
}
