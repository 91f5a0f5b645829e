/**
 * The pages of one flush, from their first transaction until they are in the store.
 *
 * Where a page ends depends on when flushes happen, so pages differ between replicas; what is in them does not.
 */
import { ByteReader, ByteWriter, type Crc32 } from '#base';
import type { KvBatch } from '#kv';
import { readLoggedTransaction } from '#model';
import { copyRange } from './bytes-range.ts';
import { DIRECTORY_BLOCK, type RowKeys } from './keys.ts';
import { type LogPlace, PAGE_BODY_BYTES, type PageOutline, pushRecord, writePage, writeRecordTag } from './page.ts';
import { type RecordHead, writeRecordHead } from './record.ts';
import { emptyDirectoryBits, setDirectoryBit, writeDirectoryRow } from './small-rows.ts';

/**
 * Transactions of one page. Below DIRECTORY_BLOCK, so that of two neighbouring blocks of the directory one knows the
 * page of any revision.
 */
const PAGE_TRANSACTIONS_MAX = 128;
/** Most databases are written now and then, a little at a time; whoever writes more has grown them once. */
const START_BYTES = 1024;

interface PendingPage extends PageOutline {
  /** Where its body starts in the common buffer. */
  readonly start: number;
  end: number;
  count: number;
}

/** Where a transaction's body came to lie. */
export interface AppendedBody {
  /** First revision of the page. */
  readonly pageStart: number;
  /** Offset of the body in the page's body. */
  readonly offset: number;
}

/** A transaction to append. */
export interface TransactionToAppend extends RecordHead {
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  readonly body: Uint8Array;
  /** Where its entry stands in the log. */
  readonly place: LogPlace;
}

/** Transactions that go into one page together. */
export interface PageRun {
  readonly byteLength: number;
  readonly count: number;
}

/** A pending event: canonical bytes, and the id it is stored under if that is not the one in them. */
export interface PendingEvent {
  readonly bytes: Uint8Array;
  readonly storedId?: string | undefined;
}

export class PendingPages {
  readonly #bodies = new ByteWriter(START_BYTES);
  readonly #head = new ByteWriter();
  readonly #value = new ByteWriter(START_BYTES);
  #pages: PendingPage[] = [];
  /** The next transaction begins a page. */
  #isClosed = false;

  get isEmpty(): boolean {
    return this.#pages.length === 0;
  }

  /** Bytes of all bodies so far. */
  get byteLength(): number {
    return this.#bodies.length;
  }

  /** The next transactions, a page at most, are not to be parted: of them only the place of the last is known. */
  beginRun({ byteLength, count }: PageRun): void {
    const last = this.#pages.at(-1);
    if (last === undefined) return;
    const isTooLong = last.end - last.start + byteLength > PAGE_BODY_BYTES;
    this.#isClosed ||= isTooLong || last.count + count > PAGE_TRANSACTIONS_MAX;
  }

  /** The next transaction begins a page: something in the log that counts stands before it (D23). */
  endPage(): void {
    this.#isClosed = !this.isEmpty;
  }

  append(transaction: TransactionToAppend): AppendedBody {
    this.#head.reset();
    writeRecordHead(this.#head, transaction, transaction.body.length);
    const recordBytes = this.#head.length + transaction.body.length;
    const page = this.#pageFor(transaction, recordBytes);
    const byteLength = writeRecordTag(this.#bodies, recordBytes);
    this.#bodies.bytes(this.#head.view());
    const offset = this.#bodies.length - page.start;
    this.#bodies.bytes(transaction.body);
    page.end = this.#bodies.length;
    page.count++;
    const { eventCount, recordedTimeMs, place } = transaction;
    const hasStoredIds = transaction.storedIds.length > 0;
    pushRecord(page, { byteLength, eventCount, hasStoredIds, recordedTimeMs, place });
    return { pageStart: page.firstRevision, offset };
  }

  /** The event at a place, if its page is here. */
  event(pageStart: number, place: { readonly revision: number; readonly index: number }): PendingEvent | undefined {
    const page = this.#pages.find((candidate) => candidate.firstRevision === pageStart);
    if (page === undefined) return undefined;
    const bytes = this.#bodies.view();
    const reader = new ByteReader(bytes, page.start, page.end);
    for (let revision = pageStart; ; revision++) {
      reader.skip(1);
      const length = reader.varint();
      if (revision === place.revision) return eventOfRecord(bytes.subarray(reader.at, reader.at + length), place.index);
      reader.skip(length);
      if (reader.failed) return undefined;
    }
  }

  flushInto(batch: KvBatch, keys: RowKeys, directory: PageDirectory, checksum: Crc32): void {
    const bodies = this.#bodies.view();
    for (const page of this.#pages) {
      this.#value.reset();
      writePage(this.#value, page, bodies.subarray(page.start, page.end), checksum);
      batch.put(keys.page(page.firstRevision), this.#value.view());
      directory.add(page.firstRevision);
    }
  }

  clear(): void {
    this.#bodies.reset();
    this.#pages = [];
    this.#isClosed = false;
  }

  #pageFor(transaction: TransactionToAppend, recordBytes: number): PendingPage {
    const last = this.#pages.at(-1);
    const fits = last !== undefined && last.end - last.start + recordBytes <= PAGE_BODY_BYTES;
    if (fits && !this.#isClosed && last.count < PAGE_TRANSACTIONS_MAX) return last;
    this.#isClosed = false;
    const start = this.#bodies.length;
    const { revision: firstRevision, place } = transaction;
    const eventsBefore = transaction.totalEvents - transaction.eventCount;
    const page = { firstRevision, eventsBefore, numbers: [], last: place, start, end: start, count: 0 };
    this.#pages.push(page);
    return page;
  }
}

function eventOfRecord(bytes: Uint8Array, index: number): PendingEvent {
  const { body, storedIds } = readLoggedTransaction(bytes, 0, bytes.length);
  const storedId = storedIds.find((stored) => stored.index === index)?.id;
  return { bytes: bytes.subarray(body.eventStarts[index], body.eventEnds[index]), storedId };
}

/** The rows of the page directory that the writer is filling. */
export class PageDirectory {
  readonly #row = new ByteWriter(64);
  #block: number;
  #bits: Uint8Array;
  #full: { readonly block: number; readonly bits: Uint8Array }[] = [];
  #changed = false;

  /** `bits` is the row of the block that the next revision lies in. */
  constructor(block: number, bits: Uint8Array | undefined) {
    this.#block = block;
    this.#bits = bits === undefined ? emptyDirectoryBits() : copyRange(bits);
  }

  add(firstRevision: number): void {
    const block = Math.floor(firstRevision / DIRECTORY_BLOCK);
    if (block !== this.#block) {
      if (this.#changed) this.#full.push({ block: this.#block, bits: this.#bits });
      this.#block = block;
      this.#bits = emptyDirectoryBits();
    }
    setDirectoryBit(this.#bits, firstRevision);
    this.#changed = true;
  }

  flushInto(batch: KvBatch, keys: RowKeys): void {
    if (!this.#changed) return;
    for (const { block, bits } of [...this.#full, { block: this.#block, bits: this.#bits }]) {
      this.#row.reset();
      writeDirectoryRow(this.#row, bits);
      batch.put(keys.directory(block), this.#row.view());
    }
    this.#full = [];
    this.#changed = false;
  }
}
