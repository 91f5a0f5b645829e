/** Small parts of the format of LevelDB's files: masked checksums, numbers of a fixed length. */
import { crc32c } from '#base';

/** LevelDB stores sums of bytes that may themselves hold sums; it turns and shifts them so that these stay apart. */
const MASK_DELTA = 0xa282ead8;

/** The CRC-32C of the bytes `[from, to)`, as LevelDB stores it. */
export function maskedCrc32c(bytes: Uint8Array, from: number, to: number): number {
  const crc = crc32c(bytes, from, to);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (readU16(bytes, at) | (readU16(bytes, at + 2) << 16)) >>> 0;
}
