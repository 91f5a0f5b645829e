/**
 * UUIDs as 16 bytes and as text, and the version 7 ones that name database instances.
 *
 * Version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits; text sorts by time, but no code relies on that.
 */
import { assert } from './assert.ts';
import type { Random } from './ports.ts';

const UUID_BYTES = 16;
const UUID_CHARACTERS = 36;
const RANDOM_BYTES = 10;
const DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const DASH = 0x2d;
/** Character codes of the text under construction; its dashes stay. */
const units: number[] = Array.from({ length: UUID_CHARACTERS }, () => DASH);

/** The 16 bytes of a UUID of any version in either case; undefined when the text is not a UUID. */
export function parseUuid(text: string): Uint8Array | undefined {
  if (text.length !== UUID_CHARACTERS) return undefined;
  const bytes = new Uint8Array(UUID_BYTES);
  let place = 0;
  for (let at = 0; at < UUID_BYTES; at++) {
    if (isDashed(at) && text.charCodeAt(place++) !== DASH) return undefined;
    const high = digitOf(text.charCodeAt(place++));
    const low = digitOf(text.charCodeAt(place++));
    if (high < 0 || low < 0) return undefined;
    bytes[at] = high * 16 + low;
  }
  return bytes;
}

/** The 16 bytes of a valid UUID. */
export function uuidBytes(text: string): Uint8Array {
  const bytes = parseUuid(text);
  assert(bytes !== undefined, 'An identity is a UUID', text);
  return bytes;
}

/** Tells whether a dash precedes this byte. */
function isDashed(at: number): boolean {
  return at === 4 || at === 6 || at === 8 || at === 10;
}

/** The value of a hexadecimal digit in either case, or −1. */
function digitOf(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** The UUID at `from` in lowercase canonical form. */
export function formatUuid(bytes: Uint8Array, from: number = 0): string {
  assert(from + UUID_BYTES <= bytes.length, 'A UUID has 16 bytes', bytes.length - from);
  let place = 0;
  for (let at = 0; at < UUID_BYTES; at++) {
    if (isDashed(at)) place++;
    const byte = bytes[from + at] ?? 0;
    units[place++] = DIGITS[byte >>> 4] ?? 0;
    units[place++] = DIGITS[byte & 0xf] ?? 0;
  }
  return String.fromCharCode(...units);
}

/** A UUIDv7 of the given millisecond. */
export function uuidv7(nowMs: number, random: Random): string {
  return formatUuid(uuidv7Bytes(nowMs, random));
}

/** The same, as its 16 bytes. */
export function uuidv7Bytes(nowMs: number, random: Random): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  let time = nowMs;
  for (let at = 5; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes.set(random.bytes(RANDOM_BYTES), 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes;
}
