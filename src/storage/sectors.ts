/**
 * Classifies sectors of a file by their bytes: zero, thin, or other.
 *
 * A disk that stops during a write leaves each sector with its old or its new content. The log only writes sectors that
 * were zero before (W5), so a lost sector reads as zeros: a *hole*. A flipped bit cannot make a hole, except of a
 * sector with a single set bit. Those, and sectors that are zero by their content, are *thin*; the log never writes
 * one.
 */
import { SECTOR_BYTES } from './wal-format.ts';

/** Compared against in one native call. */
const ZEROS: Uint8Array = new Uint8Array(64 * 1024);

/** True when the bytes `[from, to)` are all zero. */
export function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = from; at < to; at += ZEROS.length) {
    const end = Math.min(to, at + ZEROS.length);
    if (buffer.compare(ZEROS, 0, end - at, at, end) !== 0) return false;
  }
  return true;
}

/** The end of the last sector in `[from, to)` that is not zero; `from` when all are. Both ends are sector borders. */
export function filledEnd(bytes: Uint8Array, from: number, to: number): number {
  let low = 0;
  let high = (to - from) / SECTOR_BYTES;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isZero(bytes, from + middle * SECTOR_BYTES, from + high * SECTOR_BYTES)) high = middle;
    else low = middle + 1;
  }
  return from + high * SECTOR_BYTES;
}

/** True when any sector that `[from, to)` touches is all zero. */
export function touchesHole(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from - (from % SECTOR_BYTES); at < to; at += SECTOR_BYTES) if (isZeroSector(bytes, at)) return true;
  return false;
}

/** True when any sector of `[from, to)` is thin. Both ends are sector borders. */
export function hasThinSector(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += SECTOR_BYTES) if (isThinSector(bytes, at)) return true;
  return false;
}

function isZeroSector(bytes: Uint8Array, at: number): boolean {
  for (let place = at; place < at + SECTOR_BYTES; place++) if (bytes[place] !== 0) return false;
  return true;
}

function isThinSector(bytes: Uint8Array, at: number): boolean {
  let single = false;
  for (let place = at; place < at + SECTOR_BYTES; place++) {
    const byte = bytes[place] ?? 0;
    if (byte === 0) continue;
    if (single || (byte & (byte - 1)) !== 0) return false;
    single = true;
  }
  return true;
}
