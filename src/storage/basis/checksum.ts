/**
 * CRC-32 of a range of bytes, by the faster implementation for its length.
 *
 * A call into zlib costs about as much as 200 bytes of the JavaScript one (measured, see DESIGN.md); beyond that zlib
 * is up to seven times as fast. Both compute the same number.
 */
import { crc32 as zlibCrc32 } from 'node:zlib';
import { crc32 } from '#base';

const NATIVE_FROM_BYTES = 224;

/** The CRC-32 of the bytes `[from, to)`. */
export function checksum(bytes: Uint8Array, from: number, to: number): number {
  return to - from < NATIVE_FROM_BYTES ? crc32(bytes, from, to) : zlibCrc32(bytes.subarray(from, to));
}
