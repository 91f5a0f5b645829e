/**
 * What one reader may see of one database: pages, events, transactions and heads, each by one or two synchronous gets.
 *
 * A reader runs at a revision that it has chosen and the node has applied. It needs no snapshot (D7): rows of that
 * revision and below never change, and rows above it are recognised and left out. It verifies everything it reads and
 * throws `CorruptRecord` for a row that is not what was written; it never repairs and never writes.
 */
import { type Crc32, type GroupId, type Sha256, toRevision } from '#base';
import type { KvReader } from '#kv';
import type { Position } from '#model';
import { type Applied, readAppliedRow } from './applied.ts';
import { corruptRecord } from './corruption.ts';
import { type HeadContent, readHead } from './head.ts';
import { DIRECTORY_BLOCK, type HeadName, RowKeys } from './keys.ts';
import { Page, type PageRecord } from './page.ts';
import type { PostingEntry } from './posting.ts';
import { type BodyView, EventWalk, type RecordView, readBody, readRecord, type StoredId } from './record.ts';
import { lastDirectoryBit, readDirectoryRow, readTransactionRow } from './small-rows.ts';

/** Where to read: the store, the group, and the two digests that native code computes best. */
export interface DatabaseSource {
  readonly kv: KvReader;
  readonly group: GroupId;
  readonly crc32: Crc32;
  readonly sha256: Sha256;
}

/** An event as it is stored. */
export interface StoredEvent {
  readonly position: Position;
  readonly recordedTimeMs: number;
  /** Canonical wire form: a view into its page. */
  readonly bytes: Uint8Array;
  /** The id it is known by, when that is not the one in `bytes`. */
  readonly storedId?: string;
}

/** A transaction as it is stored. The offsets of `record` and `body` are in `bytes`. */
export interface StoredTransaction {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  /** The `LoggedTransaction`: a view into its page. */
  readonly bytes: Uint8Array;
  readonly record: RecordView;
  readonly body: BodyView;
}

export class DatabaseReader {
  readonly source: DatabaseSource;
  readonly keys: RowKeys;
  /** The page read last: neighbouring events mostly share it. Pages never change. */
  #page: Page | undefined;

  constructor(source: DatabaseSource) {
    this.source = source;
    this.keys = new RowKeys(source.group);
  }

  /** How far the rows are; undefined when the group has none. */
  applied(): Applied | undefined {
    const key = this.keys.applied();
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readAppliedRow(key, value);
  }

  head(name: HeadName): HeadContent | undefined {
    const key = this.keys.head(name);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readHead(name, key, value);
  }

  /** The page that begins at the revision. */
  page(firstRevision: number): Page {
    const last = this.#page;
    if (last?.firstRevision === firstRevision) return last;
    const key = this.keys.page(firstRevision);
    const value = this.source.kv.get(key);
    if (value === undefined) throw corruptRecord(key, 'the page is missing');
    const page = new Page(key.slice(), value, this.source.crc32);
    if (page.firstRevision !== firstRevision) throw page.corrupt(`it begins at revision ${page.firstRevision}`);
    this.#page = page;
    return page;
  }

  /** The page that holds the revision, which is applied and not 0. */
  pageOf(revision: number): Page {
    const last = this.#page;
    if (last !== undefined && last.firstRevision <= revision && revision <= last.lastRevision) return last;
    return this.page(this.pageStart(revision));
  }

  /** The first revision of the page that holds the revision, which is applied and not 0. */
  pageStart(revision: number): number {
    const block = Math.floor(revision / DIRECTORY_BLOCK);
    const inBlock = this.#directoryPlace(block, revision % DIRECTORY_BLOCK);
    if (inBlock >= 0) return block * DIRECTORY_BLOCK + inBlock;
    // A page may reach over the border of two blocks. It cannot skip one: it would have to hold 256 transactions.
    const before = block > 0 ? this.#directoryPlace(block - 1, DIRECTORY_BLOCK - 1) : -1;
    if (before < 0) throw corruptRecord(this.keys.directory(block), `no page holds revision ${revision}`);
    return (block - 1) * DIRECTORY_BLOCK + before;
  }

  /** The event of a posting entry. */
  eventOf(entry: PostingEntry): StoredEvent {
    const page = this.page(entry.revision - entry.pageOffset);
    const record = page.record(entry.revision);
    const storedId = record.hasStoredIds
      ? storedIdOf(this.#recordView(page, record).storedIds, entry.index)
      : undefined;
    return storedEvent(entry, record.recordedTimeMs, page.event(entry.offset), storedId);
  }

  /** The event at a position; undefined when its transaction has fewer events. The revision is applied and not 0. */
  eventAt(position: Position): StoredEvent | undefined {
    const page = this.pageOf(position.revision);
    const record = page.record(position.revision);
    if (position.index >= record.eventCount) return undefined;
    const transaction = this.#transactionOf(page, record);
    const walk = new EventWalk(transaction.bytes, transaction.body);
    for (let index = 0; walk.next(); index++) {
      if (index === position.index) return eventOfWalk(transaction, walk, index);
    }
    throw page.corrupt(`revision ${position.revision} has no event ${position.index}`);
  }

  /** The transaction of a revision that is applied and not 0. */
  transaction(revision: number): StoredTransaction {
    const page = this.pageOf(revision);
    return this.#transactionOf(page, page.record(revision));
  }

  /** All transactions of a page, in order. */
  transactions(page: Page): readonly StoredTransaction[] {
    return page.records().map((record) => this.#transactionOf(page, record));
  }

  /** The revision that a transaction id was committed at; undefined when it is not recorded. */
  transactionRevision(transactionId: Uint8Array): number | undefined {
    const key = this.keys.transaction(transactionId);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : toRevision(readTransactionRow(key, value).revision);
  }

  #directoryPlace(block: number, from: number): number {
    const key = this.keys.directory(block);
    const value = this.source.kv.get(key);
    return value === undefined ? -1 : lastDirectoryBit(readDirectoryRow(key, value), from);
  }

  #transactionOf(page: Page, record: PageRecord): StoredTransaction {
    const view = this.#recordView(page, record);
    const bytes = page.slice(record.start, record.end);
    const body = readBody(bytes, view.bodyStart, view.bodyEnd);
    if (body === undefined) throw page.corrupt(`the body of revision ${record.revision} is malformed`);
    const { revision, recordedTimeMs, eventCount } = record;
    return { revision, recordedTimeMs, eventCount, bytes, record: view, body };
  }

  #recordView(page: Page, record: PageRecord): RecordView {
    const bytes = page.slice(record.start, record.end);
    const view = readRecord(bytes, 0, bytes.length);
    if (view?.revision !== record.revision)
      throw page.corrupt(`the record of revision ${record.revision} is malformed`);
    return view;
  }
}

/** The events of a transaction, in order. */
export function eventsOf(transaction: StoredTransaction): readonly StoredEvent[] {
  const walk = new EventWalk(transaction.bytes, transaction.body);
  const events: StoredEvent[] = [];
  while (walk.next()) events.push(eventOfWalk(transaction, walk, events.length));
  return events;
}

function eventOfWalk(transaction: StoredTransaction, walk: EventWalk, index: number): StoredEvent {
  const position = { revision: transaction.revision, index };
  const storedId = storedIdOf(transaction.record.storedIds, index);
  return storedEvent(position, transaction.recordedTimeMs, transaction.bytes.subarray(walk.start, walk.end), storedId);
}

function storedEvent(
  position: Position,
  recordedTimeMs: number,
  bytes: Uint8Array,
  storedId: string | undefined,
): StoredEvent {
  const event = { position: { revision: position.revision, index: position.index }, recordedTimeMs, bytes };
  return storedId === undefined ? event : { ...event, storedId };
}

function storedIdOf(storedIds: readonly StoredId[], index: number): string | undefined {
  return storedIds.find((stored) => stored.index === index)?.id;
}
