/**
 * CRC-32 (IEEE 802.3, the one of zlib and gzip) and CRC-32C (Castagnoli, the one of LevelDB) in JavaScript, eight bytes
 * a step.
 *
 * For rows of up to a few hundred bytes this is faster than the call into native code. For whole pages and segments use
 * the native one through the `Crc32` port; both return the same number.
 */
const IEEE = 0xedb88320;
const CASTAGNOLI = 0x82f63b78;
/** Eight consecutive tables of 256 words: table n gives the effect of a byte that n more bytes follow. */
const IEEE_TABLES: Int32Array = makeTables(IEEE);
const CASTAGNOLI_TABLES: Int32Array = makeTables(CASTAGNOLI);

/** The checksum of the bytes `[from, to)`; `seed` is the checksum of the preceding bytes. */
export function crc32(bytes: Uint8Array, from: number = 0, to: number = bytes.length, seed: number = 0): number {
  return checksum(IEEE_TABLES, bytes, { from, to, seed });
}

/** The same with the Castagnoli polynomial. */
export function crc32c(bytes: Uint8Array, from: number = 0, to: number = bytes.length, seed: number = 0): number {
  return checksum(CASTAGNOLI_TABLES, bytes, { from, to, seed });
}

interface Span {
  readonly from: number;
  readonly to: number;
  readonly seed: number;
}

function checksum(tables: Int32Array, bytes: Uint8Array, { from, to, seed }: Span): number {
  let c = ~seed;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    c ^= (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    c =
      (tables[0x700 | (c & 0xff)] ?? 0) ^
      (tables[0x600 | ((c >>> 8) & 0xff)] ?? 0) ^
      (tables[0x500 | ((c >>> 16) & 0xff)] ?? 0) ^
      (tables[0x400 | (c >>> 24)] ?? 0) ^
      (tables[0x300 | (bytes[at + 4] ?? 0)] ?? 0) ^
      (tables[0x200 | (bytes[at + 5] ?? 0)] ?? 0) ^
      (tables[0x100 | (bytes[at + 6] ?? 0)] ?? 0) ^
      (tables[bytes[at + 7] ?? 0] ?? 0);
  }
  for (; at < to; at++) c = (c >>> 8) ^ (tables[(c ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  return ~c >>> 0;
}

function makeTables(polynomial: number): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let c = byte;
    for (let bit = 0; bit < 8; bit++) c = (c & 1) === 0 ? c >>> 1 : (c >>> 1) ^ polynomial;
    tables[byte] = c;
  }
  for (let place = 256; place < tables.length; place++) {
    const c = tables[place - 256] ?? 0;
    tables[place] = (c >>> 8) ^ (tables[c & 0xff] ?? 0);
  }
  return tables;
}
