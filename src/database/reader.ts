/**
 * What one reader may see of one database: pages, events, transactions and heads, each by one or two synchronous gets.
 *
 * A reader runs at a revision that it has chosen and the node has applied. It needs no snapshot (D7): rows of that
 * revision and below never change, and rows above it are recognised and left out. It verifies everything it reads and
 * throws `CorruptRecord` for a row that fails its checksum, `UnexpectedRow` for one that is not there; it never repairs
 * and never writes.
 */
import { type Crc32, type GroupId, type Sha256, toRevision } from '#base';
import type { KvReader, KvRow } from '#kv';
import { type LoggedTransactionView, type Position, readLoggedTransaction, type StoredEventId } from '#model';
import { type Applied, readAppliedRow } from './applied.ts';
import { HASH_BYTES } from './applied-state.ts';
import { unexpectedRow } from './corruption.ts';
import { type HeadContent, readHead } from './head.ts';
import { DIRECTORY_BLOCK, type HeadName, RowKeys } from './keys.ts';
import { Page, type PageRecord } from './page.ts';
import { CACHED_VALUE_BYTES_MAX, type CachedPage, type PageCache } from './page-cache.ts';
import type { PostingEntry } from './posting.ts';
import { lastDirectoryBit, readDirectoryRow, readTipRow, readTransactionRow, type TipRow } from './small-rows.ts';

const NO_STORED_IDS: readonly StoredEventId[] = [];

/** Where to read: the store, the group, and the two digests that native code computes best. */
export interface DatabaseSource {
  readonly kv: KvReader;
  readonly group: GroupId;
  readonly crc32: Crc32;
  readonly sha256: Sha256;
  /** Pages that readers who lend share, and who they belong to (D18). Absent: each reads its own. */
  readonly pages?: { readonly cache: PageCache; readonly owner: object } | undefined;
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

/** A transaction as it is stored. */
export interface StoredTransaction {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  /** The `LoggedTransaction`: a view into its page. */
  readonly bytes: Uint8Array;
  /** What is where in `bytes`. */
  readonly view: LoggedTransactionView;
  readonly chainHash: Uint8Array;
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
}

export interface ReaderOptions {
  /**
   * True: pages are lent. What was read from them is valid until `releasePages`, which gives their memory back to the
   * store. Default false: they stay as long as somebody holds them.
   */
  readonly lends?: boolean | undefined;
}

export class DatabaseReader {
  readonly source: DatabaseSource;
  readonly keys: RowKeys;
  /** Values of the pages that are lent at the moment; absent where none are. */
  readonly #lent: Uint8Array[] | undefined;
  /** Pages that are lent to this reader by the cache. */
  readonly #shared: CachedPage[] = [];
  /** The page and the transaction read last: neighbouring events mostly share them. They never change. */
  #page: Page | undefined;
  #transaction: StoredTransaction | undefined;

  constructor(source: DatabaseSource, options: ReaderOptions = {}) {
    this.source = source;
    this.keys = new RowKeys(source.group);
    this.#lent = options.lends === true ? [] : undefined;
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

  /** The tip row of a spilled head. */
  tip(name: HeadName, mask: number, ids: readonly number[]): TipRow | undefined {
    const key = this.keys.tip(name, mask, ids);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : readTipRow(key, value);
  }

  /** The page that begins at the revision. */
  page(firstRevision: number): Page {
    const last = this.#page;
    if (last?.firstRevision === firstRevision) return last;
    const page = this.#sharedPage(firstRevision) ?? this.#readPage(firstRevision);
    this.#page = page;
    return page;
  }

  /** A row that was read by a walk is not looked at. */
  passOver({ value }: KvRow): void {
    if (this.#lent !== undefined) this.source.kv.release(value);
  }

  /** The page of a row that was read by a walk. Keeps both arrays. */
  openPage({ key, value }: KvRow): Page {
    this.#lent?.push(value);
    return new Page(key, value, this.source.crc32);
  }

  /** Of a reader that lends: nobody looks at its pages, or at anything read from them, again (D12). */
  releasePages(): void {
    if (this.#lent === undefined) return;
    for (const value of this.#lent) this.source.kv.release(value);
    this.#lent.length = 0;
    for (const page of this.#shared) this.source.pages?.cache.giveBack(page);
    this.#shared.length = 0;
    this.#page = undefined;
    this.#transaction = undefined;
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
    if (before < 0) throw unexpectedRow(this.keys.directory(block), `no page holds revision ${revision}`);
    return (block - 1) * DIRECTORY_BLOCK + before;
  }

  /** The event of a posting entry. */
  eventOf(entry: PostingEntry): StoredEvent {
    const page = this.page(entry.revision - entry.pageOffset);
    const record = page.record(entry.revision);
    const storedIds = record.hasStoredIds ? this.#transactionOf(page, record).view.storedIds : NO_STORED_IDS;
    const { recordedTimeMs } = record;
    return storedEvent(entry, { recordedTimeMs, bytes: page.event(entry.offset), storedIds });
  }

  /** The event at a position; undefined when its transaction has fewer events. The revision is applied and not 0. */
  eventAt(position: Position): StoredEvent | undefined {
    const page = this.pageOf(position.revision);
    const record = page.record(position.revision);
    if (position.index >= record.eventCount) return undefined;
    return eventOfTransaction(this.#transactionOf(page, record), position.index);
  }

  /** The transaction of a revision that is applied and not 0. */
  transaction(revision: number): StoredTransaction {
    const page = this.pageOf(revision);
    return this.#transactionOf(page, page.record(revision));
  }

  /** All transactions of a page, whoever read it, in order. */
  transactions(page: Page): readonly StoredTransaction[] {
    return page.records().map((record) => readTransaction(page, record));
  }

  /** The revision that a transaction id was committed at; undefined when it is not recorded. */
  transactionRevision(transactionId: Uint8Array): number | undefined {
    const key = this.keys.transaction(transactionId);
    const value = this.source.kv.get(key);
    return value === undefined ? undefined : toRevision(readTransactionRow(key, value).revision);
  }

  #sharedPage(firstRevision: number): Page | undefined {
    const { pages } = this.source;
    if (this.#lent === undefined || pages === undefined) return undefined;
    const cached = pages.cache.take(pages.owner, firstRevision);
    if (cached !== undefined) this.#shared.push(cached);
    return cached?.page;
  }

  #readPage(firstRevision: number): Page {
    const key = this.keys.page(firstRevision).slice();
    const value = this.source.kv.get(key);
    if (value === undefined) throw unexpectedRow(key, 'the page is missing');
    const page = new Page(key, value, this.source.crc32);
    if (page.firstRevision !== firstRevision) throw page.unexpected(`it begins at revision ${page.firstRevision}`);
    const { pages } = this.source;
    if (this.#lent === undefined) return page;
    if (pages === undefined || value.length > CACHED_VALUE_BYTES_MAX) this.#lent.push(value);
    else this.#shared.push(pages.cache.keep(pages.owner, page, value));
    return page;
  }

  #directoryPlace(block: number, from: number): number {
    const key = this.keys.directory(block);
    const value = this.source.kv.get(key);
    return value === undefined ? -1 : lastDirectoryBit(readDirectoryRow(key, value), from);
  }

  /** The transaction of a page that this reader has fetched. */
  #transactionOf(page: Page, record: PageRecord): StoredTransaction {
    if (this.#transaction?.revision !== record.revision) this.#transaction = readTransaction(page, record);
    return this.#transaction;
  }
}

function readTransaction(page: Page, record: PageRecord): StoredTransaction {
  const { revision, recordedTimeMs, eventCount, totalEvents } = record;
  const bytes = page.slice(record.start, record.end);
  const view = readLoggedTransaction(bytes, 0, bytes.length);
  if (view.revision !== revision || view.body.eventStarts.length !== eventCount) {
    throw page.unexpected(`revision ${revision} of it is not what its header says`);
  }
  const chainHash = bytes.subarray(view.chainHashStart, view.chainHashStart + HASH_BYTES);
  return { revision, recordedTimeMs, eventCount, bytes, view, chainHash, totalEvents };
}

/** The events of a transaction, in order. */
export function eventsOf(transaction: StoredTransaction): readonly StoredEvent[] {
  return transaction.view.body.eventStarts.map((_, index) => eventOfTransaction(transaction, index));
}

function eventOfTransaction({ revision, recordedTimeMs, bytes, view }: StoredTransaction, index: number): StoredEvent {
  const event = bytes.subarray(view.body.eventStarts[index], view.body.eventEnds[index]);
  return storedEvent({ revision, index }, { recordedTimeMs, bytes: event, storedIds: view.storedIds });
}

function storedEvent(
  { revision, index }: Position,
  parts: Pick<StoredEvent, 'recordedTimeMs' | 'bytes'> & { readonly storedIds: readonly StoredEventId[] },
): StoredEvent {
  const { recordedTimeMs, bytes, storedIds } = parts;
  const event = { position: { revision, index }, recordedTimeMs, bytes };
  const storedId = storedIds.find((stored) => stored.index === index)?.id;
  return storedId === undefined ? event : { ...event, storedId };
}
