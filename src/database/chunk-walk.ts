/**
 * A walk over the chunks of one posting list, below a ceiling that lies above all of them.
 *
 * The key of a chunk is the position of its last entry. Upwards, a search for a position starts in the first chunk at
 * or above it. Downwards that chunk may hold the answer too; otherwise the answer is the last entry of the chunk below
 * it. Chunks are read ahead, a few at first, then more. A seek beyond the chunks that were read ahead opens the range
 * again at its target, so that its cost does not depend on the distance.
 */
import type { KvRange, KvRow } from '#kv';
import type { Direction, Position } from '#model';
import { readChunk } from './head.ts';
import { type HeadName, positionOfChunk } from './keys.ts';
import { PostingBlock } from './posting.ts';
import { positionOf, rankOf } from './rank.ts';
import type { DatabaseReader } from './reader.ts';

const READ_AHEAD_MIN = 2;
const READ_AHEAD_GROWTH = 4;
const READ_AHEAD_MAX = 32;
const LOWEST: Position = { revision: 0, index: 0 };

/** Location of the chunks: `ceiling` is the oldest inline entry of the list's head. */
export interface ChunkPlace {
  readonly reader: DatabaseReader;
  readonly name: HeadName;
  readonly ceiling: Position;
  readonly direction: Direction;
}

export class ChunkWalk {
  readonly #at: ChunkPlace;
  /** The chunk that was searched last, and the index where the search ended. */
  block: PostingBlock = PostingBlock.EMPTY;
  place = 0;

  #range: KvRange | undefined;
  #ahead: readonly KvRow[] = [];
  #next = 0;
  #readAhead = READ_AHEAD_MIN;
  /** True when an entry was found in the chunks read ahead; otherwise the walk skipped all of them. */
  #used = false;
  #exhausted = false;
  /** Downwards, every chunk whose last entry is at or above this has been passed. */
  #floor: Position;

  constructor(at: ChunkPlace) {
    this.#at = at;
    this.#floor = at.ceiling;
  }

  /** Finds the first entry at or above the rank among the chunks in memory, and sets `block` and `place` to it. */
  seek(rank: number): 'found' | 'waiting' | 'end' {
    if (this.#search(rank)) return 'found';
    while (this.#next < this.#ahead.length) {
      const row = this.#ahead[this.#next++];
      if (row === undefined || this.#leapsOver(row, rank)) continue;
      this.block = readChunk(row.key, row.value);
      this.#floor = this.block.entry(0);
      if (!this.#search(rank)) continue;
      this.#used = true;
      return 'found';
    }
    return this.#exhausted ? 'end' : 'waiting';
  }

  /** Reads more chunks towards the rank. */
  async settle(rank: number): Promise<void> {
    if (this.#range !== undefined && !this.#used) await this.release();
    if (this.#range === undefined) await this.#open(rank);
    else await this.#read(this.#range);
  }

  async release(): Promise<void> {
    const range = this.#range;
    this.#range = undefined;
    this.#readAhead = READ_AHEAD_MIN;
    await range?.close();
  }

  #search(rank: number): boolean {
    const place = placeInBlock(this.block, rank, this.#at.direction);
    if (place < 0) return false;
    this.place = place;
    return true;
  }

  /** Returns true when the chunk cannot hold the target, so that it need not be unpacked. */
  #leapsOver(row: KvRow, rank: number): boolean {
    const { direction } = this.#at;
    const decisive = direction === 'forward' ? row : this.#ahead[this.#next];
    if (decisive === undefined) return false;
    const last = positionOfChunk(decisive.key);
    const lastRank = rankOf(last.revision, last.index, direction);
    // Downwards the chunk below decides: when it also reaches up to the target, this one lies entirely above it.
    return direction === 'forward' ? lastRank < rank : lastRank <= rank;
  }

  async #open(rank: number): Promise<void> {
    this.#ahead = [];
    this.#next = 0;
    return this.#at.direction === 'forward' ? this.#openUp(rank) : this.#openDown(rank);
  }

  async #openUp(rank: number): Promise<void> {
    const { reader, name, ceiling } = this.#at;
    const range = reader.source.kv.range(reader.keys.chunks(name, positionOf(rank), ceiling));
    this.#range = range;
    await this.#read(range);
  }

  async #openDown(rank: number): Promise<void> {
    const { reader, name, direction } = this.#at;
    const isNext = rank <= rankOf(this.#floor.revision, this.#floor.index, direction) + 1;
    const straddling = isNext ? undefined : await this.#firstChunkFrom(positionOf(rank));
    const below = straddling === undefined ? this.#floor : positionOfChunk(straddling.key);
    const range = reader.source.kv.range({ ...reader.keys.chunks(name, LOWEST, below), reverse: true });
    this.#range = range;
    await this.#read(range);
    if (straddling === undefined) return;
    this.#ahead = [straddling, ...this.#ahead];
    this.#exhausted = false;
  }

  async #firstChunkFrom(position: Position): Promise<KvRow | undefined> {
    const { reader, name } = this.#at;
    const range = reader.source.kv.range({ ...reader.keys.chunks(name, position, this.#floor), limit: 1 });
    const [row] = await range.next(1);
    await range.close();
    return row;
  }

  async #read(range: KvRange): Promise<void> {
    this.#ahead = await range.next(this.#readAhead);
    this.#next = 0;
    this.#used = false;
    this.#exhausted = this.#ahead.length === 0;
    this.#readAhead = Math.min(READ_AHEAD_MAX, this.#readAhead * READ_AHEAD_GROWTH);
  }
}

/** Index of the first entry at or above the rank, in the order of the direction; −1 when all are below it. */
export function placeInBlock(block: PostingBlock, rank: number, direction: Direction): number {
  const position = positionOf(rank);
  const place = block.firstAtOrAfter(position);
  if (direction === 'forward') return place < block.count ? place : -1;
  const isExact =
    place < block.count && block.revision(place) === position.revision && block.index(place) === position.index;
  return isExact ? place : place - 1;
}
