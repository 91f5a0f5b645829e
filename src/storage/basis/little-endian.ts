/** Checksums and 64-bit numbers in the bytes of the log and of segments. */
import { crc32 as zlibCrc32 } from 'node:zlib';
import { assert, crc32 } from '#base';

const TWO_32 = 2 ** 32;

/**
 * A call into zlib costs about as much as 200 bytes of the JavaScript one (measured, see DESIGN.md); beyond that zlib
 * is up to seven times as fast.
 */
const NATIVE_FROM_BYTES = 224;

/** The CRC-32 of the bytes `[from, to)`, by the faster of two implementations, which compute the same number. */
export function checksum(bytes: Uint8Array, from: number, to: number): number {
  return to - from < NATIVE_FROM_BYTES ? crc32(bytes, from, to) : zlibCrc32(bytes.subarray(from, to));
}

/** A u64 as a number; above 2^53 - 1 it is no safe integer, which the caller checks. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}

export function writeU64(view: DataView, at: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'A number of the log is a safe integer of 0 or more', value);
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / TWO_32), true);
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A checksum or a magic as messages write it. */
export function hex32(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}
