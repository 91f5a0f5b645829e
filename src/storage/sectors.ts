/**
 * Sectors of a batch, each of which ends with a tag: the number of its segment in a form that no single flipped bit
 * turns into that of another segment.
 *
 * A disk that stops during a write leaves each sector with its old or its new content. The log only writes where all
 * sectors are *old* (W5): zero, or from an earlier segment that was in this file. So a lost sector is old, and its tag
 * says so, whatever else it contains.
 *
 *   sector := 508 bytes of content, u32 tag = 3 · number of the segment
 *
 * Two multiples of 3 never differ in a single bit. A sector that was never written is zero, so its tag is that of
 * number 0, which no segment has.
 */
import { viewOf } from './basis/little-endian.ts';
import { SECTOR_BYTES, SECTOR_CONTENT_BYTES } from './wal-format.ts';

const TAG_BYTES = SECTOR_BYTES - SECTOR_CONTENT_BYTES;
const TAG_FACTOR = 3;

/** Turns content at the start of `batch` into the sectors of this segment, in place; `batch` has whole sectors. */
export function intoSectors(batch: Uint8Array, segment: number): void {
  const view = viewOf(batch);
  for (let sector = batch.length / SECTOR_BYTES - 1; sector >= 0; sector--) {
    const from = sector * SECTOR_CONTENT_BYTES;
    const to = sector * SECTOR_BYTES;
    if (sector > 0) batch.copyWithin(to, from, from + SECTOR_CONTENT_BYTES);
    view.setUint32(to + SECTOR_CONTENT_BYTES, TAG_FACTOR * segment, true);
  }
}

/** The reverse: moves the content of the sectors to the start of `batch`, which is overwritten. */
export function outOfSectors(batch: Uint8Array): void {
  for (let sector = 1; sector < batch.length / SECTOR_BYTES; sector++) {
    const from = sector * SECTOR_BYTES;
    batch.copyWithin(sector * SECTOR_CONTENT_BYTES, from, from + SECTOR_CONTENT_BYTES);
  }
}

/** Offset in the sectors of a batch of the byte at offset `at` of its content. */
export function storedAt(at: number): number {
  return at + TAG_BYTES * Math.floor(at / SECTOR_CONTENT_BYTES);
}

/** True when every sector of `[from, to)` belongs to the segment. Both ends are sector borders. */
export function isOfSegment(view: DataView, from: number, to: number, segment: number): boolean {
  for (let at = from; at < to; at += SECTOR_BYTES) if (tag(view, at) !== TAG_FACTOR * segment) return false;
  return true;
}

/** True when the sector at `at` is zero or from an earlier segment. */
export function isOld(view: DataView, at: number, segment: number): boolean {
  const found = tag(view, at);
  return found < TAG_FACTOR * segment && found % TAG_FACTOR === 0;
}

/** True when any sector that `[from, to)` touches is old. */
export function touchesOld(view: DataView, from: number, to: number, segment: number): boolean {
  for (let at = from - (from % SECTOR_BYTES); at < to; at += SECTOR_BYTES) if (isOld(view, at, segment)) return true;
  return false;
}

/** The end of the last sector in `[from, to)` that is not old; `from` when all are. Both ends are sector borders. */
export function filledEnd(view: DataView, from: number, to: number, segment: number): number {
  let end = to;
  while (end > from && isOld(view, end - SECTOR_BYTES, segment)) end -= SECTOR_BYTES;
  return end;
}

function tag(view: DataView, sector: number): number {
  return view.getUint32(sector + SECTOR_CONTENT_BYTES, true);
}
