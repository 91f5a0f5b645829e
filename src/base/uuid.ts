/**
 * UUIDs as 16 bytes and as text, and the version 7 ones that name database instances.
 *
 * Version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits; text sorts by time, which nobody relies on.
 */
import { assert } from './assert.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UUID_BYTES = 16;
const RANDOM_BYTES = 10;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** A dash stands before these bytes. */
const DASHED: ReadonlySet<number> = new Set([4, 6, 8, 10]);

/** The 16 bytes of a UUID of any version in either case, or undefined when the text is none. */
export function parseUuid(text: string): Uint8Array | undefined {
  if (!UUID.test(text)) return undefined;
  const digits = text.replaceAll('-', '');
  return Uint8Array.from({ length: UUID_BYTES }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** The UUID at `from` in lowercase canonical form. */
export function formatUuid(bytes: Uint8Array, from: number = 0): string {
  assert(from + UUID_BYTES <= bytes.length, 'A UUID has 16 bytes', bytes.length - from);
  let text = '';
  for (let at = 0; at < UUID_BYTES; at++) text += (DASHED.has(at) ? '-' : '') + (HEX[bytes[from + at] ?? 0] ?? '');
  return text;
}

/** A UUIDv7 of the given millisecond and 10 random bytes. */
export function uuidv7(nowMs: number, random: Uint8Array): string {
  assert(random.length === RANDOM_BYTES, 'A UUIDv7 takes 10 random bytes', random.length);
  const bytes = new Uint8Array(UUID_BYTES);
  let time = nowMs;
  for (let at = 5; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes.set(random, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return formatUuid(bytes);
}

/** The Unix millisecond in a UUIDv7. */
export function uuidv7TimeMs(text: string): number {
  const bytes = parseUuid(text);
  assert(bytes !== undefined, 'A UUIDv7 is a UUID', text);
  return bytes.subarray(0, 6).reduce((time, byte) => time * 256 + byte, 0);
}
