/**
 * Reads a MANIFEST of LevelDB, which may still be written, each time on from where the last record that was whole has
 * ended: a block at a time, so it may be of any length, and nothing is read twice but the block that was not full.
 *
 * An end that is cut off is no fault: LevelDB is just writing it, or a power loss left it. The next call looks again. A
 * record that does not verify, with a good one anywhere behind it, is damage: LevelDB would drop the rest of its block.
 *
 * A MANIFEST, like a log of LevelDB, is a row of blocks; a record does not cross a block, and fewer than seven bytes at
 * the end of one are unused:
 * ```
 *  0            4        6      7             7 + length
 *  +------------+--------+------+----- ... ---+
 *  | checksum   | length | type | data        |     checksum: CRC-32C of type and data, masked; little-endian
 *  +------------+--------+------+----- ... ---+     type: 1 full, 2 first, 3 middle, 4 last
 * ```
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { maskedCrc32c, readU16, readU32 } from './level-bytes.ts';

const BLOCK_BYTES = 32 * 1024;
const HEADER_BYTES = 7;
const [TYPE_FULL, TYPE_FIRST, TYPE_LAST] = [1, 2, 4];

export interface LogDamage {
  readonly offset: number;
  readonly found: string;
}

export class LevelLogReader {
  readonly path: string;
  /** Where the next record begins: everything in front of it is verified. */
  #offset = 0;
  /** The parts read so far of a record that crosses blocks. */
  #parts: Uint8Array[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Gives each record that has become whole since the last call, which may be kept.
   * @returns Damage: a record broken in front of a good one, or a file that became shorter.
   * @throws A system error when the file cannot be opened or read; then it may be tried again.
   */
  readOn(take: (record: Uint8Array) => void): LogDamage | undefined {
    const file = openSync(this.path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size < this.#offset) return { offset: size, found: `it ends there, and was read up to ${this.#offset}` };
      return this.#readBlocks(file, take);
    } finally {
      closeSync(file);
    }
  }

  #readBlocks(file: number, take: (record: Uint8Array) => void): LogDamage | undefined {
    const block = new Uint8Array(BLOCK_BYTES);
    let brokenAt: number | undefined;
    let start = this.#offset - (this.#offset % BLOCK_BYTES);
    for (let isFull = true; isFull; start += BLOCK_BYTES) {
      const bytes = block.subarray(0, readUpTo(file, block, start));
      isFull = bytes.length === BLOCK_BYTES;
      const from = brokenAt === undefined ? this.#takeRecords(bytes, start, take) : 0;
      if (from === bytes.length) continue;
      brokenAt ??= start + from;
      if (hasRecordIn(bytes, start + from === brokenAt ? from + 1 : 0, bytes.length)) {
        return { offset: brokenAt, found: 'its record there does not match its checksum' };
      }
    }
    return undefined;
  }

  /** Where in the block its records end: at its length, unless something there is broken or cut off. */
  #takeRecords(bytes: Uint8Array, start: number, take: (record: Uint8Array) => void): number {
    let at = this.#offset - start;
    while (bytes.length - at >= HEADER_BYTES) {
      const next = recordEnd(bytes, at, bytes.length);
      if (next === undefined) return at;
      this.#takePart(bytes[at + HEADER_BYTES - 1] ?? 0, bytes.slice(at + HEADER_BYTES, next), take);
      at = next;
      this.#offset = start + at;
    }
    const isUnused = bytes.length === BLOCK_BYTES && bytes.subarray(at).every((byte) => byte === 0);
    if (!isUnused) return at;
    this.#offset = start + BLOCK_BYTES;
    return BLOCK_BYTES;
  }

  #takePart(type: number, part: Uint8Array, take: (record: Uint8Array) => void): void {
    if (type === TYPE_FULL || type === TYPE_FIRST) this.#parts = [];
    this.#parts.push(part);
    if (type !== TYPE_FULL && type !== TYPE_LAST) return;
    take(this.#parts.length === 1 ? part : new Uint8Array(Buffer.concat(this.#parts)));
    this.#parts = [];
  }
}

/** Fills the buffer from the offset on, as far as the file goes. */
function readUpTo(file: number, buffer: Uint8Array, offset: number): number {
  let length = 0;
  for (let count = -1; count !== 0 && length < buffer.length; length += count) {
    count = readSync(file, buffer, length, buffer.length - length, offset + length);
  }
  return length;
}

/** Where a good record that begins at `at` ends. */
function recordEnd(log: Uint8Array, at: number, end: number): number | undefined {
  const type = log[at + 6] ?? 0;
  const next = at + HEADER_BYTES + readU16(log, at + 4);
  if (type === 0 || type > TYPE_LAST || next > end) return undefined;
  return maskedCrc32c(log, at + 6, next) === readU32(log, at) ? next : undefined;
}

/**
 * Whether a good record lies in `[from, end)`. A wrong length hides where the next one begins: every place is tried.
 */
function hasRecordIn(log: Uint8Array, from: number, end: number): boolean {
  for (let at = from; end - at >= HEADER_BYTES; at++) {
    if (recordEnd(log, at, end) !== undefined) return true;
  }
  return false;
}
