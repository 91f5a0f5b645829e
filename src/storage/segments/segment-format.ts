/**
 * Bytes of a segment file (docs/formats/segments.md).
 *
 * ```
 * file   := header, block+, footer?
 * header := a block whose data are the magic, the format and the start of the segment
 * block  := 4090 bytes of data, u16 count of those that are used, u32 CRC-32 of all before     little-endian
 * ```
 * Every block but the last is full. Unused bytes are zero, so equal histories have equal files. The footer
 * (segment-contents.ts) has blocks that no reader takes for records: 0x8000 is added to their count.
 */
import { type GroupId, hasBytesAt, toGroupId } from '#base';
import type { SegmentStart } from '#kv';
import { checksum, readU64, viewOf, writeU64 } from '../basis/little-endian.ts';

export const BLOCK_BYTES = 4096;
export const BLOCK_DATA_BYTES = 4090;
const USED_AT = BLOCK_DATA_BYTES;
const CRC_AT = 4092;
/** Added to the count of a block. */
export const IN_FOOTER = 0x8000;

/** Bytes of the start of a segment, as it is stored in headers and footers. */
export const START_BYTES = 64;
const REVISION_AT = 8;
const CHAIN_HASH_AT = 16;
const TOTAL_EVENTS_AT = 48;
const RECORDED_TIME_AT = 56;

const MAGIC: Uint8Array = Uint8Array.from('CairnSeg', (letter) => letter.charCodeAt(0));
const FORMAT = 1;
const FORMAT_AT = 8;
const START_AT = 9;
const HEADER_DATA_BYTES: number = START_AT + START_BYTES;

const HEX = 16;
const GROUP_DIGITS = 8;
const SUFFIX = '.segment';
const NAME = /^([0-9a-f]{16})\.segment$/;
const GROUP_NAME = /^[0-9a-f]{8}$/;

/** Why bytes of a segment cannot be used. */
export interface SegmentFault {
  readonly text: string;
  /** The bytes are not there, as opposed to other ones. */
  readonly isMissing: boolean;
}

export function missing(text: string): SegmentFault {
  return { text, isMissing: true };
}

export function damaged(text: string): SegmentFault {
  return { text, isMissing: false };
}

/** Completes the block that begins at `at`: its first `used` bytes are data. `kind` is 0 or `IN_FOOTER`. */
export function sealBlock(bytes: Uint8Array, at: number, used: number, kind = 0): void {
  bytes.fill(0, at + used, at + USED_AT);
  bytes[at + USED_AT] = used & 0xff;
  bytes[at + USED_AT + 1] = (used | kind) >>> 8;
  const crc = checksum(bytes, at, at + CRC_AT);
  for (let byte = 0; byte < 4; byte++) bytes[at + CRC_AT + byte] = (crc >>> (8 * byte)) & 0xff;
}

/**
 * Adds data to the first of these blocks, which has `used` bytes of data, and to those after it. Returns the data of
 * the last block.
 */
export function fillBlocks(blocks: Uint8Array, used: number, data: Uint8Array, kind = 0): Uint8Array {
  let taken = 0;
  let filled = used;
  for (let at = 0; ; at += BLOCK_BYTES) {
    const more = data.subarray(taken, taken + BLOCK_DATA_BYTES - filled);
    blocks.set(more, at + filled);
    taken += more.length;
    filled += more.length;
    sealBlock(blocks, at, filled, kind);
    if (taken === data.length) return new Uint8Array(blocks.subarray(at, at + filled));
    filled = 0;
  }
}

/** Number of data bytes of the block at `at`; undefined when the block is not one of this kind that was sealed. */
export function usedInBlock(bytes: Uint8Array, at: number, kind = 0): number | undefined {
  const used = ((bytes[at + USED_AT] ?? 0) | ((bytes[at + USED_AT + 1] ?? 0) << 8)) ^ kind;
  const low = (bytes[at + CRC_AT] ?? 0) | ((bytes[at + CRC_AT + 1] ?? 0) << 8);
  const crc = (low | ((bytes[at + CRC_AT + 2] ?? 0) << 16) | ((bytes[at + CRC_AT + 3] ?? 0) << 24)) >>> 0;
  return used <= BLOCK_DATA_BYTES && crc === checksum(bytes, at, at + CRC_AT) ? used : undefined;
}

/** Number of the block that has the position, in the segment that begins at `base`. */
export function blockAt(position: number, base: number): number {
  return 1 + Math.floor((position - base) / BLOCK_DATA_BYTES);
}

/** First position of a block. */
export function blockStart(block: number, base: number): number {
  return base + (block - 1) * BLOCK_DATA_BYTES;
}

/** Size of the header and the blocks with the positions from `base` up to and without `end`. */
export function bytesUpTo(end: number, base: number): number {
  return (1 + blockAt(end - 1, base)) * BLOCK_BYTES;
}

/** Writes the header block to the beginning of `bytes`. */
export function writeHeader(bytes: Uint8Array, start: SegmentStart): void {
  bytes.set(MAGIC);
  bytes[FORMAT_AT] = FORMAT;
  writeStart(bytes, START_AT, start);
  sealBlock(bytes, 0, HEADER_DATA_BYTES);
}

export function writeStart(bytes: Uint8Array, at: number, start: SegmentStart): void {
  const view = viewOf(bytes);
  writeU64(view, at, start.position);
  writeU64(view, at + REVISION_AT, start.revision);
  bytes.set(start.chainHash, at + CHAIN_HASH_AT);
  writeU64(view, at + TOTAL_EVENTS_AT, start.totalEvents);
  writeU64(view, at + RECORDED_TIME_AT, start.recordedTimeMs);
}

export function readStart(bytes: Uint8Array, at: number): SegmentStart {
  const view = viewOf(bytes);
  return {
    position: readU64(view, at),
    revision: readU64(view, at + REVISION_AT),
    chainHash: bytes.slice(at + CHAIN_HASH_AT, at + TOTAL_EVENTS_AT),
    totalEvents: readU64(view, at + TOTAL_EVENTS_AT),
    recordedTimeMs: readU64(view, at + RECORDED_TIME_AT),
  };
}

/** The start in a header block; as text: why it is none. */
export function readHeader(bytes: Uint8Array): SegmentStart | string {
  if (usedInBlock(bytes, 0) !== HEADER_DATA_BYTES) return 'its header does not match its checksum';
  if (!hasBytesAt(bytes, 0, MAGIC)) return 'its header does not begin with "CairnSeg"';
  const format = bytes[FORMAT_AT];
  if (format !== FORMAT) return `it has format ${format}, and this release reads format ${FORMAT}`;
  return readStart(bytes, START_AT);
}

/** Name of the directory of a group. */
export function groupName(group: GroupId): string {
  return group.toString(HEX).padStart(GROUP_DIGITS, '0');
}

/** The groups among the names of these directories. */
export function groupsIn(names: readonly string[]): GroupId[] {
  return names.filter((name) => GROUP_NAME.test(name)).map((name) => toGroupId(Number.parseInt(name, HEX)));
}

/** Name of the segment that begins at the position. */
export function segmentName(position: number): string {
  return `${position.toString(HEX).padStart(16, '0')}${SUFFIX}`;
}

/** Starts of the segments among these names, ascending. */
export function segmentBases(names: readonly string[]): readonly number[] {
  const bases = names.flatMap((name) => {
    const [, digits] = NAME.exec(name) ?? [];
    return digits === undefined ? [] : [Number.parseInt(digits, HEX)];
  });
  return bases.toSorted((one, other) => one - other);
}
