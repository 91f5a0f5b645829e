/**
 * Caches blocks of recent reads of a few bytes. Events that are read again soon are mostly in the same blocks, and a
 * copy from memory costs less than a read and a checksum.
 *
 * Only full blocks are kept: they never change while the replica exists; their owner guarantees that. Each block has
 * one slot, so nothing is searched or moved.
 */
import type { GroupId } from '#base';
import { BLOCK_DATA_BYTES } from './segment-format.ts';

const PLACE_BITS = 10;
const PLACES = 2 ** PLACE_BITS;
/** The golden ratio in 32 bits: it spreads neighbours. */
const SPREAD = 0x9e3779b1;
/** Blocks with the same number in different groups get different places. */
const GROUP_STRIDE = 4999;

/** A block of a history, by the position that it begins with. */
interface CachedBlock {
  readonly owner: object;
  readonly group: GroupId;
  readonly start: number;
}

export class BlockCache {
  /** Absent until a block is kept: 4 MiB. */
  #data: Uint8Array | undefined;
  readonly #owners: (object | undefined)[] = [];
  readonly #starts = new Float64Array(PLACES);

  /** The data of the block, valid until the next `keep`; undefined when the block is not here. */
  find(block: CachedBlock): Uint8Array | undefined {
    const place = placeOf(block);
    if (this.#owners[place] !== block.owner || this.#starts[place] !== block.start) return undefined;
    return this.#data?.subarray(place * BLOCK_DATA_BYTES, (place + 1) * BLOCK_DATA_BYTES);
  }

  /** Keeps a full block, which was verified, in its place. */
  keep(block: CachedBlock, data: Uint8Array): void {
    this.#data ??= new Uint8Array(PLACES * BLOCK_DATA_BYTES);
    const place = placeOf(block);
    this.#owners[place] = block.owner;
    this.#starts[place] = block.start;
    this.#data.set(data, place * BLOCK_DATA_BYTES);
  }
}

function placeOf({ group, start }: CachedBlock): number {
  const number = Math.floor(start / BLOCK_DATA_BYTES) + group * GROUP_STRIDE;
  return Math.imul(number % 2 ** 32, SPREAD) >>> (32 - PLACE_BITS);
}
