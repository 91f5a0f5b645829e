/** Search for a rank in a run of posting entries. */
import type { PostingBlock } from '#database';
import type { Direction } from '#model';
import { positionOf } from './rank.ts';

/** Index of the first entry at or above the rank, in the order of the direction; −1 when all are below it. */
export function placeInBlock(block: PostingBlock, rank: number, direction: Direction): number {
  const position = positionOf(rank);
  const place = block.firstAtOrAfter(position);
  if (direction === 'forward') return place < block.count ? place : -1;
  const isExact =
    place < block.count && block.revision(place) === position.revision && block.index(place) === position.index;
  return isExact ? place : place - 1;
}
