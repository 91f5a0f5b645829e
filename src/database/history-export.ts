/**
 * The history of a database for a replica that has less of it: pages above where that one stands, in parts.
 *
 * It goes up to the applied row as it is when the export begins. That is a consistent mark without a snapshot of the
 * store: a page is written once and never changed or merged, batches end where pages end, and what is written later
 * lies above the mark (D3, D7). Pages say where in the log they end, so that every part ends at a place of its own
 * (D16).
 */
import { assert, ByteWriter, toHex } from '#base';
import type { Applied } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { corruptRecord } from './corruption.ts';
import { genesisHash } from './facts.ts';
import { decodeStanding } from './history-import.ts';
import type { LogPlace, Page } from './page.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';

/** Some pages, a whole number of them; none where there is nothing left but to say how far the log has come. */
export interface HistoryPart {
  readonly data: Uint8Array;
  /** Where in the log whoever has taken it over stands. */
  readonly last: LogPlace;
  readonly isLast: boolean;
}

/** Bytes of pages that are read at a time, about. */
const READ_BYTES = 256 * 1024;
const PAGES_PER_READ = 256;

export class HistoryExport {
  readonly #reader: DatabaseReader;
  readonly #mark: Applied;
  /** The first revision of the next page to read. */
  #next: number;
  #pages: readonly Page[] = [];
  #values: readonly Uint8Array[] = [];

  /**
   * Begins at the page that holds the next revision of whoever stands there. The failure, as text: that history is not
   * a beginning of this one.
   */
  static open(source: DatabaseSource, standing: Uint8Array): HistoryExport | string {
    const reader = new DatabaseReader(source);
    const mark = reader.applied();
    if (mark === undefined) throw corruptRecord(reader.keys.applied(), 'the applied row is missing');
    const from = decodeStanding(standing);
    if (from === undefined) return 'it does not say where it stands';
    // Whoever has more than this replica needs nothing of it, and there is nothing to compare.
    if (from.revision > mark.revision) return new HistoryExport(reader, mark, mark.revision + 1);
    const here = chainHashOf(reader, mark, from.revision);
    if (toHex(here) !== toHex(from.chainHash)) {
      return `its revision ${from.revision} has the chain hash ${toHex(from.chainHash)}, and ${toHex(here)} here`;
    }
    const isWhole = from.revision === mark.revision;
    return new HistoryExport(reader, mark, isWhole ? mark.revision + 1 : reader.pageStart(from.revision + 1));
  }

  private constructor(reader: DatabaseReader, mark: Applied, next: number) {
    this.#reader = reader;
    this.#mark = mark;
    this.#next = next;
  }

  /** Who belongs to the group as of the mark. */
  get group(): GroupMark {
    return this.#mark.group;
  }

  /** The next part, of about so many bytes or of one page. Not called again after the last one. */
  async next(bytesMax: number): Promise<HistoryPart> {
    const { revision, index, term } = this.#mark;
    if (this.#pages.length === 0 && this.#next <= revision) await this.#read();
    const writer = new ByteWriter(bytesMax);
    let last: LogPlace = { index, term };
    let taken = 0;
    for (const [at, value] of this.#values.entries()) {
      if (taken > 0 && writer.length + value.length > bytesMax) break;
      writer.varint(value.length);
      writer.bytes(value);
      last = this.#pages[at]?.last ?? last;
      taken += 1;
    }
    this.#pages = this.#pages.slice(taken);
    this.#values = this.#values.slice(taken);
    const isLast = this.#pages.length === 0 && this.#next > revision;
    return { data: writer.take(), last: isLast ? { index, term } : last, isLast };
  }

  async #read(): Promise<void> {
    const { source, keys } = this.#reader;
    const bounds = keys.pages(this.#next, this.#mark.revision + 1);
    const range = source.kv.range({ ...bounds, chunkBytes: READ_BYTES, fillCache: false });
    try {
      const rows = await range.next(PAGES_PER_READ);
      this.#pages = rows.map((row) => this.#reader.openPage(row));
      this.#values = rows.map(({ value }) => value);
    } finally {
      await range.close();
    }
    for (const page of this.#pages) {
      if (page.firstRevision > this.#next) throw page.corrupt(`revision ${this.#next} has no page before it`);
      this.#next = page.lastRevision + 1;
    }
    if (this.#pages.length === 0) throw corruptRecord(keys.page(this.#next), 'the page is missing');
    assert(this.#next <= this.#mark.revision + 1, 'A page ends where its batch does', [
      this.#next,
      this.#mark.revision,
    ]);
  }
}

function chainHashOf(reader: DatabaseReader, { rootId }: Applied, revision: number): Uint8Array {
  if (revision === 0) return genesisHash(reader.source.sha256, rootId);
  return reader.transaction(revision).chainHash;
}
