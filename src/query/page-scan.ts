/**
 * A walk over the pages of a range of revisions, in slices.
 *
 * The first slice reads single pages, which may be cached (D18): most walks end in it. Each later slice opens a range,
 * reads it, and closes it; the next slice begins after its last revision. The scan checks that there is no gap between
 * the pages: a missing page is corruption, never a shorter answer. (Q6)
 */
import type { DatabaseReader, Page } from '#database';
import type { KvRow } from '#kv';
import type { Direction } from '#model';
import type { SlicePace } from './slice-pace.ts';

export interface PageScanOptions {
  readonly direction: Direction;
  /** Revisions, both inclusive. */
  readonly first: number;
  readonly last: number;
  /** Limits the bytes of pages in one slice, after the first slices. */
  readonly pace: SlicePace;
}

/** Limits of the first slice, which is small because the reader may want one event only. */
const SLICE_BYTES_FIRST = 16 * 1024;
const PAGES_FIRST = 8;
const SLICE_GROWTH = 4;
const PAGES_PER_SLICE = 1024;

export class PageScan {
  readonly #reader: DatabaseReader;
  readonly #options: PageScanOptions;
  /** 0: nothing was read yet. */
  #sliceBytes = 0;
  /** The remaining revisions, both inclusive. */
  #first: number;
  #last: number;

  constructor(reader: DatabaseReader, options: PageScanOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#first = options.first;
    this.#last = options.last;
  }

  /**
   * The next pages with a revision of the range, in its direction; empty when the next one must wait for room;
   * undefined at the end.
   */
  async next(): Promise<readonly Page[] | undefined> {
    if (this.#first > this.#last) return undefined;
    const isFirst = this.#sliceBytes === 0;
    const bytes = isFirst ? SLICE_BYTES_FIRST : this.#sliceBytes * SLICE_GROWTH;
    this.#sliceBytes = Math.min(bytes, this.#options.pace.bytes);
    if (isFirst) return this.#firstPages();
    const pages = await this.#slice();
    for (const page of pages) this.#pass(page);
    return pages;
  }

  /** Empty when the first page must wait for room. */
  #firstPages(): readonly Page[] {
    const { direction, pace } = this.#options;
    const pages: Page[] = [];
    let bytes = 0;
    while (this.#first <= this.#last && bytes < this.#sliceBytes && pages.length < PAGES_FIRST) {
      const page = this.#nextPage(direction === 'forward' && pages.length > 0);
      bytes += page.bytes;
      if (bytes > 2 * pace.bytes && (pages.length > 0 || !pace.admits(bytes))) break;
      this.#pass(page);
      pages.push(page);
    }
    if (pages.length === 0) this.#reader.releasePages();
    return pages;
  }

  /** `isBehind`: the page follows one that was passed. */
  #nextPage(isBehind: boolean): Page {
    if (isBehind) return this.#reader.page(this.#first);
    return this.#reader.pageOf(this.#options.direction === 'forward' ? this.#first : this.#last);
  }

  async #slice(): Promise<readonly Page[]> {
    const isForward = this.#options.direction === 'forward';
    const start = isForward && this.#first !== this.#options.first ? this.#first : this.#reader.pageStart(this.#first);
    const range = this.#reader.source.kv.range({
      ...this.#reader.keys.pages(start, this.#last + 1),
      reverse: !isForward,
      chunkBytes: this.#sliceBytes,
      fillCache: false,
    });
    const rows = await range.next(PAGES_PER_SLICE);
    await range.close();
    if (rows.length === 0) throw this.#reader.page(start).unexpected('the walk over the pages does not show it');
    return this.#admitted(rows).map((row) => this.#reader.openPage(row));
  }

  /** The rows that there is room for. */
  #admitted(rows: readonly KvRow[]): readonly KvRow[] {
    const { pace } = this.#options;
    let bytes = 0;
    const end = rows.findIndex(({ value }, place) => {
      bytes += value.length;
      return bytes > 2 * pace.bytes && (place > 0 || !pace.admits(bytes));
    });
    if (end < 0) return rows;
    for (const row of rows.slice(end)) this.#reader.passOver(row);
    return rows.slice(0, end);
  }

  /** The remaining revisions, both inclusive. */
  get rest(): { readonly first: number; readonly last: number } {
    return { first: this.#first, last: this.#last };
  }

  /** Skips to this revision, which is a remaining one. */
  skipTo(revision: number): void {
    if (this.#options.direction === 'reverse') this.#last = revision;
    else this.#first = this.#reader.pageStart(revision);
  }

  #pass(page: Page): void {
    if (this.#options.direction === 'forward') {
      if (page.firstRevision > this.#first) throw page.unexpected(`no page holds revision ${this.#first} before it`);
      this.#first = page.lastRevision + 1;
    } else {
      if (page.lastRevision < this.#last) throw page.unexpected(`no page holds revision ${this.#last} behind it`);
      this.#last = page.firstRevision - 1;
    }
  }
}
