/**
 * A walk over one posting list: the entries inline in its head, and the chunks below them.
 *
 * ```
 * positions →   [chunk][chunk][chunk] … [chunk][inline entries of the head]
 * ```
 * The head is read before any chunk, and chunks are immutable once their entries have left a head. So all entries below
 * the oldest inline one are in the chunks, whatever is written concurrently, and no read view is needed. (D7)
 */
import { ChunkWalk, placeInBlock } from './chunk-walk.ts';
import { type HeadContent, inlineEntries } from './head.ts';
import type { Hits } from './hits.ts';
import { PostingBlock, type PostingEntry } from './posting.ts';
import { END_RANK, type RankRange, rankOf, rankRange } from './rank.ts';
import type { DatabaseReader } from './reader.ts';

/** The entries of the list whose ranks are within the bounds. */
export function listHits(reader: DatabaseReader, head: HeadContent, bounds: RankRange): Hits {
  return new ListHits(reader, head, bounds);
}

class ListHits implements Hits {
  readonly #reader: DatabaseReader;
  readonly #head: HeadContent;
  readonly #direction: RankRange['direction'];
  /** No entry of the list within the bounds lies above it. */
  readonly #lastRank: number;
  rank: number;
  ready = false;

  /** Unpacked on first use: many lists of a union are never used. */
  #inline: PostingBlock | undefined;
  #chunks: ChunkWalk | undefined;
  #block: PostingBlock = PostingBlock.EMPTY;
  #place = 0;

  constructor(reader: DatabaseReader, head: HeadContent, bounds: RankRange) {
    this.#reader = reader;
    this.#head = head;
    this.#direction = bounds.direction;
    const extent = rankRange(head.firstRevision, head.lastRevision, bounds.direction);
    this.rank = Math.max(bounds.first, extent.first);
    this.#lastRank = Math.min(bounds.last, extent.last);
  }

  seek(rank: number): void {
    if (this.ready && rank <= this.rank) return;
    this.rank = Math.max(this.rank, rank);
    this.ready = false;
    if (this.rank > this.#lastRank) this.#end();
    else if (this.#direction === 'forward') this.#seekUp(this.#unpacked());
    else this.#seekDown(this.#unpacked());
  }

  async settle(): Promise<void> {
    this.seek(this.rank);
    if (this.ready || this.#chunks === undefined) return;
    await this.#chunks.settle(this.rank);
    this.seek(this.rank);
  }

  entry(): PostingEntry {
    return this.#block.entry(this.#place);
  }

  async release(): Promise<void> {
    await this.#chunks?.release();
  }

  /** Searches the chunks, then the inline entries. */
  #seekUp(inline: PostingBlock): void {
    const isBelowInline = this.rank < rankOf(inline.revision(0), inline.index(0), this.#direction);
    if (isBelowInline && this.#seekChunks() !== 'end') return;
    this.#seekInline(inline);
    if (!this.ready) this.#end();
  }

  /** Searches the inline entries, then the chunks. */
  #seekDown(inline: PostingBlock): void {
    this.#seekInline(inline);
    if (!this.ready && this.#seekChunks() === 'end') this.#end();
  }

  #seekInline(inline: PostingBlock): void {
    const place = placeInBlock(inline, this.rank, this.#direction);
    if (place >= 0) this.#arrive(inline, place);
  }

  #seekChunks(): 'found' | 'waiting' | 'end' {
    const chunks = this.#chunks;
    if (chunks === undefined) return 'end';
    const outcome = chunks.seek(this.rank);
    if (outcome === 'found') this.#arrive(chunks.block, chunks.place);
    return outcome;
  }

  #arrive(block: PostingBlock, place: number): void {
    const rank = rankOf(block.revision(place), block.index(place), this.#direction);
    if (rank > this.#lastRank) return this.#end();
    this.#block = block;
    this.#place = place;
    this.rank = rank;
    this.ready = true;
  }

  #end(): void {
    this.rank = END_RANK;
    this.ready = true;
  }

  #unpacked(): PostingBlock {
    if (this.#inline !== undefined) return this.#inline;
    const inline = inlineEntries(this.#reader.keys.head(this.#head.name), this.#head);
    this.#inline = inline;
    if (this.#head.count > inline.count) this.#chunks = this.#chunksBelow(inline);
    return inline;
  }

  #chunksBelow(inline: PostingBlock): ChunkWalk {
    return new ChunkWalk({
      reader: this.#reader,
      name: this.#head.name,
      ceiling: inline.entry(0),
      direction: this.#direction,
    });
  }
}
