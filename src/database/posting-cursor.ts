/**
 * A walk over one posting list, forward or in reverse, as it is at a revision: what queries intersect and unite.
 *
 * Reader rule (D7): the head is read first, then only chunks below the head's oldest inline entry. Whatever the writer
 * does in between, each entry is seen exactly once: an entry moves from a head to a chunk in one batch, and a chunk
 * made after our head was read lies above that border. Entries above the revision are left out.
 *
 * The walk stands on one entry, or on none (`place` says which). `advance()` goes on inside what is loaded and costs
 * next to nothing; `load()` goes on to the next block; `seek()` jumps. Whoever opens a cursor closes it.
 */
import type { KvRange, KvRow } from '#kv';
import type { Position } from '#model';
import { type HeadContent, inlineEntries, readChunk } from './head.ts';
import { type HeadName, type KeyRange, positionOfChunk } from './keys.ts';
import { PostingBlock, type PostingEntry } from './posting.ts';
import type { DatabaseReader } from './reader.ts';

export interface PostingCursorOptions {
  readonly name: HeadName;
  /** Entries of later revisions are not seen. */
  readonly at: number;
  readonly direction: 'forward' | 'reverse';
}

/** Chunk rows that one wait fetches. */
const ROWS_PER_LOAD = 16;
const FIRST: Position = { revision: 0, index: 0 };
const INDEX_MAX = 0xffff;

/** Where the next block comes from. */
type Next = 'start' | 'chunks' | 'inline' | 'end';

export class PostingCursor {
  readonly head: HeadContent;
  readonly #reader: DatabaseReader;
  readonly #options: PostingCursorOptions;
  readonly #inline: PostingBlock;
  /** Chunks hold what is below; the inline entries start here. */
  readonly #border: Position;
  #next: Next = 'start';
  #range: KvRange | undefined;
  #rows: readonly KvRow[] = [];
  #row = 0;
  #block: PostingBlock = PostingBlock.EMPTY;
  #place = -1;

  /** Undefined when the list has no entry at the revision or below. */
  static open(reader: DatabaseReader, options: PostingCursorOptions): PostingCursor | undefined {
    const head = reader.head(options.name);
    return head === undefined || head.firstRevision > options.at ? undefined : new PostingCursor(reader, head, options);
  }

  private constructor(reader: DatabaseReader, head: HeadContent, options: PostingCursorOptions) {
    this.head = head;
    this.#reader = reader;
    this.#options = options;
    this.#inline = inlineEntries(reader.keys.head(options.name), head);
    this.#border = this.#inline.entry(0);
  }

  /** Whether the walk stands on an entry. */
  get onEntry(): boolean {
    return this.#place >= 0 && this.#place < this.#block.count && this.revision <= this.#options.at;
  }

  /** Revision of the entry that the walk stands on; so `index`. */
  get revision(): number {
    return this.#block.revision(this.#place);
  }

  get index(): number {
    return this.#block.index(this.#place);
  }

  /** The entry that the walk stands on. */
  get entry(): PostingEntry {
    return this.#block.entry(this.#place);
  }

  /** Goes on to the next entry of the loaded block. False: `load()` must say whether there are more. */
  advance(): boolean {
    this.#place += this.#isForward ? 1 : -1;
    return this.onEntry;
  }

  /** Goes on to the next block's first entry (the first time: to the first of all). False: the list has ended. */
  async load(): Promise<boolean> {
    if (this.#next === 'start') return this.seek(this.#isForward ? FIRST : this.#highest);
    const block = await this.#nextBlock();
    return this.#enter(block, this.#isForward ? 0 : block.count - 1);
  }

  /** Goes to the first entry at or behind the position, in the walk's direction; never back. False: there is none. */
  async seek(position: Position): Promise<boolean> {
    const target = this.#isForward || position.revision <= this.#options.at ? position : this.#highest;
    if (this.onEntry && !this.#isBefore(this.#block.entry(this.#place), target)) return true;
    if (this.#seekInBlock(this.#block, target)) return this.onEntry;
    if (this.#next === 'end') return this.#enter(PostingBlock.EMPTY, 0);
    return this.#isForward ? this.#seekForward(target) : this.#seekReverse(target);
  }

  /** Gives the range back. Closing twice is allowed. */
  async close(): Promise<void> {
    this.#next = 'end';
    this.#place = -1;
    await this.#closeRange();
  }

  get #isForward(): boolean {
    return this.#options.direction === 'forward';
  }

  /** The last position that the walk may see. */
  get #highest(): Position {
    return { revision: this.#options.at, index: INDEX_MAX };
  }

  /** Whether the walk meets `left` before `right`. */
  #isBefore(left: Position, right: Position): boolean {
    const order = left.revision === right.revision ? left.index - right.index : left.revision - right.revision;
    return this.#isForward ? order < 0 : order > 0;
  }

  /** A target that the block walked last does not reach. */
  async #seekForward(target: Position): Promise<boolean> {
    if (this.#isBefore(target, this.#border)) {
      await this.#openChunks(target, this.#border);
      const block = await this.#nextBlock();
      return this.#seekInBlock(block, target) ? this.onEntry : this.load();
    }
    await this.#closeRange();
    this.#next = 'end';
    return this.#seekInBlock(this.#inline, target) ? this.onEntry : this.#enter(PostingBlock.EMPTY, 0);
  }

  async #seekReverse(target: Position): Promise<boolean> {
    if (this.#next === 'start') {
      await this.#openChunks(FIRST, this.#border);
      if (this.#seekInBlock(this.#inline, target)) return this.onEntry;
    }
    // Chunks go by their last entry: the one that holds the target, or reaches over it, may lie above it.
    const above = await this.#chunkAbove(target);
    await this.#openChunks(FIRST, above === undefined ? this.#border : positionOfChunk(above.key));
    if (above !== undefined && this.#seekInBlock(readChunk(above.key, above.value), target)) return this.onEntry;
    return this.load();
  }

  async #chunkAbove(target: Position): Promise<KvRow | undefined> {
    const { gte, lt } = this.#chunkRange(target, this.#border);
    const range = this.#reader.source.kv.range({ gte, lt, limit: 1 });
    const rows = await range.next(1);
    await range.close();
    return rows[0];
  }

  /** Goes to the target inside the block, if it is not past the block's end. */
  #seekInBlock(block: PostingBlock, target: Position): boolean {
    const from = block.firstAtOrAfter(target);
    let place = from;
    if (!this.#isForward) {
      const isExact =
        from < block.count && block.revision(from) === target.revision && block.index(from) === target.index;
      place = isExact ? from : from - 1;
    }
    if (place < 0 || place >= block.count) return false;
    this.#enter(block, place);
    return true;
  }

  #enter(block: PostingBlock, place: number): boolean {
    this.#block = block;
    this.#place = place;
    return this.onEntry;
  }

  /** Walks the chunks anew, those whose last entry is in `[from, to)`. */
  async #openChunks(from: Position, to: Position): Promise<void> {
    await this.#closeRange();
    this.#range = this.#reader.source.kv.range({ ...this.#chunkRange(from, to), reverse: !this.#isForward });
    this.#next = 'chunks';
  }

  #chunkRange(from: Position, to: Position): KeyRange {
    return this.#reader.keys.chunks(this.#options.name, from, to);
  }

  /** The next block of the walk; an empty one at its end. */
  async #nextBlock(): Promise<PostingBlock> {
    if (this.#next === 'chunks') {
      if (this.#row === this.#rows.length) await this.#fetch();
      const row = this.#rows[this.#row++];
      if (row !== undefined) return readChunk(row.key, row.value);
      await this.#closeRange();
      this.#next = this.#isForward ? 'inline' : 'end';
    }
    if (this.#next !== 'inline') return PostingBlock.EMPTY;
    this.#next = 'end';
    return this.#inline;
  }

  async #fetch(): Promise<void> {
    this.#rows = (await this.#range?.next(ROWS_PER_LOAD)) ?? [];
    this.#row = 0;
  }

  async #closeRange(): Promise<void> {
    const range = this.#range;
    this.#range = undefined;
    this.#rows = [];
    this.#row = 0;
    await range?.close();
  }
}
