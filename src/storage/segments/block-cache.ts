/**
 * Blocks that were read lately by reads of a few bytes. Events that are read soon again are mostly in the same blocks,
 * and a copy out of memory costs less than a read and a checksum.
 *
 * Only full blocks are kept: they never change. Each has one place, so nothing is searched or moved.
 */
import type { SegmentFile } from './segment-files.ts';
import { BLOCK_DATA_BYTES } from './segment-format.ts';

const PLACE_BITS = 10;
const PLACES = 2 ** PLACE_BITS;
/** The golden ratio in 32 bits: it spreads neighbours. */
const SPREAD = 0x9e3779b1;

export class BlockCache {
  /** Absent until a block is kept: 4 MiB. */
  #data: Uint8Array | undefined;
  readonly #files: (SegmentFile | undefined)[] = [];
  readonly #blocks = new Float64Array(PLACES);

  /** The data of the block, valid until the next `keep`; undefined when the block is not here. */
  find(file: SegmentFile, block: number): Uint8Array | undefined {
    const place = placeOf(file, block);
    if (this.#files[place] !== file || this.#blocks[place] !== block) return undefined;
    return this.#data?.subarray(place * BLOCK_DATA_BYTES, (place + 1) * BLOCK_DATA_BYTES);
  }

  /** Keeps a full block, which was verified, in its place. */
  keep(file: SegmentFile, block: number, data: Uint8Array): void {
    this.#data ??= new Uint8Array(PLACES * BLOCK_DATA_BYTES);
    const place = placeOf(file, block);
    this.#files[place] = file;
    this.#blocks[place] = block;
    this.#data.set(data, place * BLOCK_DATA_BYTES);
  }
}

function placeOf(file: SegmentFile, block: number): number {
  const number = Math.floor(file.base / BLOCK_DATA_BYTES) + block;
  return Math.imul(number % 2 ** 32, SPREAD) >>> (32 - PLACE_BITS);
}
