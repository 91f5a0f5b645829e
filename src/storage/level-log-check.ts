/**
 * Looks through LevelDB's own logs before LevelDB does: what is broken in the middle of one must not be passed over.
 *
 * LevelDB reads its logs leniently: from a record whose checksum is wrong it drops the rest of the 32 KiB block, goes
 * on with the next one, and says nothing. Rows that were acknowledged would be missing, and a missing row has no
 * checksum that could be wrong. So a record that does not verify, with a good one anywhere behind it, is damage, and
 * the store is not opened. At the end of a log it is what a power loss leaves: LevelDB drops it, and recovery
 * (#cluster) compares what is left with the write-ahead log.
 *
 *   W17  A store is opened only when no record of its logs is broken in front of a good one.
 *
 * A log may be of any length, and is read a block at a time.
 *
 * A log is a row of blocks; a record does not cross a block, and fewer than seven bytes at the end of one are unused:
 * ```
 *  0            4        6      7             7 + length
 *  +------------+--------+------+----- ... ---+
 *  | checksum   | length | type | data        |     checksum: CRC-32C of type and data, masked; little-endian
 *  +------------+--------+------+----- ... ---+     type: 1 full, 2 first, 3 middle, 4 last
 * ```
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { RESTORE_HINT, StorageFailure } from './basis/storage-failure.ts';
import { maskedCrc32c, readU16, readU32 } from './level-bytes.ts';

export const BLOCK_BYTES: number = 32 * 1024;
export const HEADER_BYTES = 7;
export const TYPE_FULL = 1;
export const TYPE_FIRST = 2;
export const TYPE_LAST = 4;
const TYPE_MAX = TYPE_LAST;
const LOG_NAME = /^\d+\.log$/;

/** @throws StorageFailure `corrupt`, naming the file and the place. */
export function verifyLevelLogs(directory: string): void {
  for (const name of readdirSync(directory).filter((file) => LOG_NAME.test(file))) {
    const path = join(directory, name);
    const offset = damageIn(logBlocks(path));
    if (offset === undefined) continue;
    throw new StorageFailure(
      'corrupt',
      `${path} is damaged at offset ${offset}: its record does not match its checksum, and good ones follow it. ` +
        `LevelDB would drop acknowledged data without a word. ${RESTORE_HINT}`,
      { path, offset },
    );
  }
}

/**
 * The blocks of a log, all in the same buffer: each is valid until the next is asked for. Only the last may be shorter.
 */
function* logBlocks(path: string): Generator<Uint8Array> {
  const file = openSync(path, 'r');
  try {
    const buffer = new Uint8Array(BLOCK_BYTES);
    for (let offset = 0, length = BLOCK_BYTES; length === BLOCK_BYTES; offset += BLOCK_BYTES) {
      length = readUpTo(file, buffer, offset);
      if (length > 0) yield buffer.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** Fills the buffer from the offset on, as far as the file goes. */
export function readUpTo(file: number, buffer: Uint8Array, offset: number): number {
  let length = 0;
  for (let count = -1; count !== 0 && length < buffer.length; length += count) {
    count = readSync(file, buffer, length, buffer.length - length, offset + length);
  }
  return length;
}

/** The first record of a log, given block by block, that is broken in front of a good one. */
export function damageIn(blocks: Iterable<Uint8Array>): number | undefined {
  let broken: number | undefined;
  let start = 0;
  for (const block of blocks) {
    const { count, brokenAt } = walkBlock(block);
    if (broken !== undefined && count > 0) return broken;
    if (brokenAt !== undefined) {
      broken ??= start + brokenAt;
      if (hasRecordIn(block, brokenAt + 1, block.length)) return broken;
    }
    start += BLOCK_BYTES;
  }
  return undefined;
}

interface BlockWalk {
  readonly count: number;
  /** Where the walk ended before the end of the block, unless what is there was never written. */
  readonly brokenAt: number | undefined;
}

function walkBlock(block: Uint8Array): BlockWalk {
  let count = 0;
  let at = 0;
  while (block.length - at >= HEADER_BYTES) {
    const next = recordEnd(block, at, block.length);
    if (next === undefined) return { count, brokenAt: at };
    at = next;
    count += 1;
  }
  const isPadding = block.subarray(at).every((byte) => byte === 0);
  return { count, brokenAt: isPadding ? undefined : at };
}

/** Where a good record that begins at `at` ends. */
export function recordEnd(log: Uint8Array, at: number, end: number): number | undefined {
  const type = log[at + 6] ?? 0;
  const next = at + HEADER_BYTES + readU16(log, at + 4);
  if (type === 0 || type > TYPE_MAX || next > end) return undefined;
  return maskedCrc32c(log, at + 6, next) === readU32(log, at) ? next : undefined;
}

/**
 * Whether a good record lies in `[from, end)`. A wrong length hides where the next one begins: every place is tried.
 */
export function hasRecordIn(log: Uint8Array, from: number, end: number): boolean {
  for (let at = from; end - at >= HEADER_BYTES; at++) {
    if (recordEnd(log, at, end) !== undefined) return true;
  }
  return false;
}
