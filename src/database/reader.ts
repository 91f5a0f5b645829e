/**
 * Reads one database: rows, each by one synchronous get, and the records of its history.
 *
 * A reader runs at a chosen revision that the node has applied. It needs no snapshot (D7): rows and records of that
 * revision and below never change, and later ones are recognised and skipped. It verifies the checksum of everything
 * that it reads. It throws `CorruptRecord` for a wrong checksum, and `UnexpectedRow` for a row that is missing or not
 * the expected one; it never repairs and never writes.
 */
import { ByteReader, type GroupId, type Sha256, whenDone } from '#base';
import type { HistoryRange, KvReader } from '#kv';
import type { Position } from '#model';
import { type Applied, readAppliedRow } from './applied.ts';
import { unexpectedRecord, unexpectedRow } from './corruption.ts';
import { type HeadContent, readHead } from './head.ts';
import { HistoryBytes, type Wanted } from './history-bytes.ts';
import { type HeadName, RowKeys } from './keys.ts';
import type { EventPlace, PostingEntry } from './posting.ts';
import {
  CONTROL_BYTES_MAX,
  type ControlRecord,
  controlLength,
  type LogPlace,
  RECORD_BYTES_MIN,
  type RecordsEnd,
  readBody,
  readControlHead,
  readFrame,
  readRecordHead,
  readRecords,
  readTransaction,
  recordLength,
  type StoredRecord,
  type StoredTransaction,
  skipRecords,
  type TransactionHead,
} from './record.ts';
import { readNumberRow, readTipRow, type TipRow } from './small-rows.ts';

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

/** Whole records of a history, consecutive. */
export interface RecordSlice {
  readonly records: readonly StoredRecord[];
  /** The records themselves. */
  readonly bytes: Uint8Array;
  /** Position after the last of them. */
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
  /** The head that was read last: neighbouring events mostly share it. */
  #head: TransactionHead | undefined;

  constructor(source: DatabaseSource, { lends = false }: ReaderOptions = {}) {
    this.source = source;
    this.keys = new RowKeys(source.group);
    this.#history = new HistoryBytes({ ...source, lends });
  }

  /** State that the rows have reached; undefined when the group has none. */
  applied(): Applied | undefined {
    const applied = this.#row(this.keys.applied(), readAppliedRow);
    this.#history.noteEnd(applied?.end ?? 0);
    return applied;
  }

  head(name: HeadName): HeadContent | undefined {
    return this.#row(this.keys.head(name), (key, value) => readHead(name, key, value));
  }

  /** The tip row of a spilled head. */
  tip(name: HeadName, mask: number, ids: readonly number[]): TipRow | undefined {
    return this.#row(this.keys.tip(name, mask, ids), readTipRow);
  }

  /** The revision that a transaction id was committed at; undefined when it is not recorded. */
  transactionRevision(transactionId: Uint8Array): number | undefined {
    return this.#row(this.keys.transaction(transactionId), readNumberRow);
  }

  /** The position in a row that has nothing else; undefined when there is no such row. */
  positionIn(key: Uint8Array): number | undefined {
    return this.#row(key, readNumberRow);
  }

  /** Position of the record of a revision, which is applied and not 0. */
  start(revision: number): number {
    const start = this.positionIn(this.keys.position(revision));
    if (start === undefined) throw unexpectedRow(this.keys.position(revision), 'the position of a record is missing');
    return start;
  }

  /** Position after the record of a revision, which is applied: where the next one begins, or the history ends. */
  end(revision: number): number {
    const applied = this.applied();
    return applied?.revision === revision ? applied.end : this.start(revision + 1);
  }

  /** The transaction of a revision that is applied and not 0, without its events: a large one costs no more. */
  transactionHead(revision: number): TransactionHead {
    if (this.#head?.revision !== revision) this.#head = this.#history.find(this.#headOf(revision));
    return this.#head;
  }

  /** Like `transactionHead`, but this thread does not wait for the disk. */
  async headLater(revision: number): Promise<TransactionHead> {
    const [head] = await this.#history.findAll([this.#headOf(revision)]);
    return head ?? this.transactionHead(revision);
  }

  /** The transaction of a revision that is applied and not 0. */
  transaction(revision: number): StoredTransaction {
    const head = this.transactionHead(revision);
    const byteLength = head.end - head.position;
    return readBody(head, this.#history.at(head.position, byteLength).subarray(0, byteLength));
  }

  /** The event at a place that a row gave. */
  eventIn(place: EventPlace): StoredEvent {
    return storedEvent(place, this.transactionHead(place.revision), this.eventBytes(place));
  }

  /** Its canonical bytes. */
  eventBytes({ position }: EventPlace): Uint8Array {
    return this.#history.find({ position, least: EVENT_BYTES_MIN, read: this.#eventIn });
  }

  /**
   * The events of posting entries, in their order, read all at once: a promise where that takes the disk. Ends before a
   * long event that is not the first and has no room in so many bytes.
   */
  eventsOf(
    entries: readonly PostingEntry[],
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): readonly StoredEvent[] | Promise<readonly StoredEvent[]> {
    let bytesLeft = bytesMax;
    const read = (bytes: Uint8Array, position: number): Uint8Array | number | undefined => {
      const found = this.#eventIn(bytes, position);
      if (typeof found !== 'number') return found;
      bytesLeft -= found;
      return bytesLeft < 0 && position !== entries[0]?.position ? undefined : found;
    };
    const withHead = entries.filter(({ hasStoredId }) => hasStoredId);
    const found = this.#history.findAll<Uint8Array | TransactionHead | undefined>([
      ...entries.map(({ position }) => ({ position, least: EVENT_BYTES_MIN, read })),
      ...withHead.map(({ revision }) => this.#headOf(revision)),
    ]);
    return whenDone(found, (all) => {
      const heads = new Map<number, TransactionHead>();
      for (const head of all.slice(entries.length)) {
        if (head !== undefined && !(head instanceof Uint8Array)) heads.set(head.revision, head);
      }
      const events: StoredEvent[] = [];
      for (const [place, entry] of entries.entries()) {
        const bytes = all[place];
        if (!(bytes instanceof Uint8Array)) break;
        events.push(storedEvent(entry, heads.get(entry.revision) ?? entry, bytes));
      }
      return events;
    });
  }

  /**
   * The transactions from position `from` on, where one begins, to `to`, where a record ends: about so many bytes of
   * them, at least one and at most `limit`. They have no gap. Control records between them are passed over, and a long
   * one is not read.
   */
  transactions(
    { from, to }: HistoryRange,
    bytes: number,
    limit: number = Number.POSITIVE_INFINITY,
  ): readonly StoredTransaction[] | Promise<readonly StoredTransaction[]> {
    if (from >= to) return [];
    return this.#read({ from, to }, bytes, (all, wanted) => this.#cut(all, { from, bytes: wanted, limit }));
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

  /** The bytes of the same records, which are not parsed. */
  async recordBytes({ from, to }: HistoryRange, bytes: number): Promise<RecordsEnd & { readonly bytes: Uint8Array }> {
    return this.#read({ from, to }, bytes, (all, wanted) => {
      const last = skipRecords(all.subarray(0, wanted), from);
      if (typeof last === 'string') throw unexpectedRecord(this.source.group, from, last);
      return last && { ...last, bytes: all.subarray(0, last.end - from) };
    });
  }

  /** The control record at a position, perhaps without the bytes of the part of a component: on this thread. */
  controlAt(position: number): ControlRecord {
    return this.#history.find({ position, least: RECORD_BYTES_MIN, read: this.#controlIn });
  }

  /** The same for several positions, read all at once. */
  async controlsAt(positions: readonly number[]): Promise<readonly ControlRecord[]> {
    const wanted = positions.map((position) => ({ position, least: RECORD_BYTES_MIN, read: this.#controlIn }));
    return this.#history.findAll(wanted);
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
  }

  #row<Content>(key: Uint8Array, read: (key: Uint8Array, value: Uint8Array) => Content): Content | undefined {
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : read(key, value);
  }

  #headOf(revision: number): Wanted<TransactionHead> {
    const read = (bytes: Uint8Array, start: number): TransactionHead | number => {
      const head = readRecordHead(bytes, 0, start);
      // All that precedes the events is nearly always read along; otherwise the whole record is.
      if (head === undefined) return recordLength(bytes, 0) ?? RECORD_BYTES_MIN;
      if (typeof head === 'string') throw unexpectedRecord(this.source.group, start, head);
      if (head.revision === revision) return head;
      throw unexpectedRecord(this.source.group, start, `it is revision ${head.revision}, and not ${revision}`);
    };
    return { position: this.start(revision), least: RECORD_BYTES_MIN, read };
  }

  /** The event whose length the bytes begin with, or how many bytes are needed for it. */
  readonly #eventIn = (bytes: Uint8Array, position: number): Uint8Array | number => {
    const reader = new ByteReader(bytes, 0, Math.min(LENGTH_BYTES_MAX, bytes.length));
    const length = reader.varint();
    if (length === 0) throw unexpectedRecord(this.source.group, position, 'no event is there');
    const end = reader.at + length;
    return end <= bytes.length ? bytes.subarray(reader.at, end) : end;
  };

  /** The control record that the bytes begin with, or how many bytes are needed for it. */
  readonly #controlIn = (bytes: Uint8Array, position: number): ControlRecord | number => {
    const found = readControlHead(bytes, 0, position);
    if (typeof found === 'object') return found;
    const length = recordLength(bytes, 0) ?? 0;
    // A peer may have sent the position, and then the length may be any bytes.
    const isCut = found === undefined && length > bytes.length && position + length <= this.#history.end;
    if (isCut && length <= CONTROL_BYTES_MAX) return length;
    throw unexpectedRecord(this.source.group, position, found ?? 'no record begins there');
  };

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
    return whenDone(read, take);
  }

  /** Undefined when the first transaction is longer than `all`. */
  #cut(
    all: Uint8Array,
    wanted: { readonly from: number; readonly bytes: number; readonly limit: number },
  ): readonly StoredTransaction[] | undefined {
    const transactions: StoredTransaction[] = [];
    let at = 0;
    while (at < all.length && at < wanted.bytes && transactions.length < wanted.limit) {
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

/** The events of a transaction, in order. */
export function eventsOf(transaction: StoredTransaction): readonly StoredEvent[] {
  const { revision, bytes, view } = transaction;
  const { eventStarts, eventEnds } = view.body;
  return eventStarts.map((start, index) =>
    storedEvent({ revision, index }, transaction, bytes.subarray(start, eventEnds[index])),
  );
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
