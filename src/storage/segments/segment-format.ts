/**
 * Bytes of a segment file (docs/formats/segments.md).
 *
 * ```
 * file   := header, block+
 * header := a block whose data are the magic, the format and the start of the segment
 * block  := 4090 bytes of data, u16 count of those that are used, u32 CRC-32 of all before     little-endian
 * ```
 * Every block but the last is full. Unused bytes are zero, so equal histories have equal files.
 */
import { type GroupId, hasBytesAt } from '#base';
import type { SegmentStart } from '#kv';
import { checksum } from '../basis/checksum.ts';
import { readU64, viewOf, writeU64 } from '../basis/little-endian.ts';

export const BLOCK_BYTES = 4096;
export const BLOCK_DATA_BYTES = 4090;
const USED_AT = BLOCK_DATA_BYTES;
const CRC_AT = 4092;

const MAGIC: Uint8Array = Uint8Array.from('CairnSeg', (letter) => letter.charCodeAt(0));
const FORMAT = 1;
const FORMAT_AT = 8;
const POSITION_AT = 9;
const REVISION_AT = 17;
const CHAIN_HASH_AT = 25;
const CHAIN_HASH_BYTES = 32;
const HEADER_DATA_BYTES: number = CHAIN_HASH_AT + CHAIN_HASH_BYTES;

const HEX = 16;
const GROUP_DIGITS = 8;
const SUFFIX = '.segment';
const NAME = /^([0-9a-f]{16})\.segment$/;

/** Completes the block that begins at `at`: its first `used` bytes are data. */
export function sealBlock(bytes: Uint8Array, at: number, used: number): void {
  bytes.fill(0, at + used, at + USED_AT);
  bytes[at + USED_AT] = used & 0xff;
  bytes[at + USED_AT + 1] = used >>> 8;
  const crc = checksum(bytes, at, at + CRC_AT);
  for (let byte = 0; byte < 4; byte++) bytes[at + CRC_AT + byte] = (crc >>> (8 * byte)) & 0xff;
}

/** Number of data bytes of the block at `at`; undefined when the block is not one that was sealed. */
export function usedInBlock(bytes: Uint8Array, at: number): number | undefined {
  const used = (bytes[at + USED_AT] ?? 0) | ((bytes[at + USED_AT + 1] ?? 0) << 8);
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

/** Writes the header block to the beginning of `bytes`. */
export function writeHeader(bytes: Uint8Array, { position, revision, chainHash }: SegmentStart): void {
  const view = viewOf(bytes);
  bytes.set(MAGIC);
  bytes[FORMAT_AT] = FORMAT;
  writeU64(view, POSITION_AT, position);
  writeU64(view, REVISION_AT, revision);
  bytes.set(chainHash, CHAIN_HASH_AT);
  sealBlock(bytes, 0, HEADER_DATA_BYTES);
}

/** The start in a header block; as text: why it is none. */
export function readHeader(bytes: Uint8Array): SegmentStart | string {
  if (usedInBlock(bytes, 0) !== HEADER_DATA_BYTES) return 'its header does not match its checksum';
  if (!hasBytesAt(bytes, 0, MAGIC)) return 'its header does not begin with "CairnSeg"';
  const format = bytes[FORMAT_AT];
  if (format !== FORMAT) return `it has format ${format}, and this release reads format ${FORMAT}`;
  const view = viewOf(bytes);
  return {
    position: readU64(view, POSITION_AT),
    revision: readU64(view, REVISION_AT),
    chainHash: bytes.slice(CHAIN_HASH_AT, HEADER_DATA_BYTES),
  };
}

/** Name of the directory of a group. */
export function groupName(group: GroupId): string {
  return group.toString(HEX).padStart(GROUP_DIGITS, '0');
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
