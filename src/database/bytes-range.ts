/** A range inside a byte array: compares it in place, and copies it out. */

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
