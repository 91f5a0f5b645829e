/**
 * UTF-8, by the platform's own encoder and decoder.
 *
 * Every JavaScript runtime has `TextEncoder` and `TextDecoder`, but the ECMAScript library that the pure layers compile
 * with does not declare them. Short ASCII text, the common case, does not use them.
 */
declare const TextEncoder: new () => {
  encode(text: string): Uint8Array;
  encodeInto(text: string, into: Uint8Array): { readonly written: number };
};
declare const TextDecoder: new (
  label: 'utf-8',
  options: { readonly fatal: boolean; readonly ignoreBOM: boolean },
) => {
  decode(bytes: Uint8Array): string;
};

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Up to this length a loop over the characters costs less than the call of the platform. */
const SHORT = 40;

export function encodeUtf8(text: string): Uint8Array {
  if (text.length > SHORT) return ENCODER.encode(text);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80) return ENCODER.encode(text);
    bytes[index] = unit;
  }
  return bytes;
}

/** Writes the text at `at` and returns its length. The caller provides room for 3 bytes a UTF-16 unit. */
export function encodeUtf8Into(text: string, into: Uint8Array, at: number): number {
  if (text.length <= SHORT) {
    let index = 0;
    while (index < text.length) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) break;
      into[at + index++] = unit;
    }
    if (index === text.length) return index;
  }
  return ENCODER.encodeInto(text, into.subarray(at)).written;
}

/** The text of `[from, to)`, or undefined when these bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array, from: number = 0, to: number = bytes.length): string | undefined {
  if (to - from <= SHORT) {
    let text = '';
    let at = from;
    while (at < to) {
      const unit = bytes[at] ?? 0;
      if (unit >= 0x80) break;
      text += String.fromCharCode(unit);
      at++;
    }
    if (at === to) return text;
  }
  try {
    return DECODER.decode(bytes.subarray(from, to));
  } catch {
    // A fatal decoder throws a TypeError for malformed bytes and for nothing else.
    return undefined;
  }
}
