/**
 * Plain operations on byte ranges, and bytes as hexadecimal text. A range is half-open, `[from, to)`. Nothing here
 * copies unless its name says so.
 */

export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Negative, zero or positive, in the order of unsigned bytes; a prefix sorts before a longer array. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const common = Math.min(left.length, right.length);
  for (let i = 0; i < common; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Tells whether `bytes` contains `part` at `at`. A part that reaches past the end is not contained. */
export function hasBytesAt(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  if (at + part.length > bytes.length) return false;
  for (let i = 0; i < part.length; i++) {
    if (bytes[at + i] !== part[i]) return false;
  }
  return true;
}

/** A new array of all parts in order. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Below it the garbage collector has little to do, and detaching a buffer costs as much as leaving it. */
const GIVEN_BACK_BYTES_MIN = 4096;

/**
 * Frees the memory of an array without further readers at once: it has length 0 afterwards. V8 counts buffers outside
 * its heap and collects everything when there are many, however short their lives were (ADR 0017).
 *
 * Does nothing when the array is small, or when its buffer is larger than it by more than `besides` bytes.
 */
export function giveBack({ buffer, byteLength }: Uint8Array, besides: number = 0): void {
  if (byteLength < GIVEN_BACK_BYTES_MIN || byteLength + besides < buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const DIGITS = /^(?:[0-9a-f]{2})*$/i;

/** Two lowercase digits a byte. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** The bytes of the text, or undefined when it is not pairs of hexadecimal digits. */
export function parseHex(text: string): Uint8Array | undefined {
  if (!DIGITS.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** Up to so many bytes a loop is faster than a view and `set`. */
const SHORT_BYTES_MAX = 48;

/** True when `whole` equals `bytes[from, to)`. */
export function equalsRange(whole: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (whole.length !== to - from) return false;
  for (let at = 0; at < whole.length; at++) if (whole[at] !== bytes[from + at]) return false;
  return true;
}

/** `bytes[from, to)` as an array of its own, also when `bytes` is a Node Buffer, whose `slice` would only be a view. */
export function copyRange(bytes: Uint8Array, from: number = 0, to: number = bytes.length): Uint8Array {
  const copy = new Uint8Array(to - from);
  if (copy.length > SHORT_BYTES_MAX) copy.set(bytes.subarray(from, to));
  else for (let at = 0; at < copy.length; at++) copy[at] = bytes[from + at] ?? 0;
  return copy;
}
