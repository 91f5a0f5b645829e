/**
 * Base64 (RFC 4648): the standard alphabet with padding, and the URL-safe alphabet without.
 *
 * Reading is strict, so that every byte sequence has one spelling in each form: no white space, no missing or surplus
 * padding, and the unused bits of the last character are zero.
 */

const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const STANDARD_VALUES = valuesOf(STANDARD);
const URL_SAFE_VALUES = valuesOf(URL_SAFE);
const NOT_A_DIGIT = -1;

function valuesOf(alphabet: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}

/** Undefined when the text is not base64 with padding. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return decode(text, text.length - padding, STANDARD_VALUES);
}

export function toBase64Url(bytes: Uint8Array): string {
  let text = '';
  const whole = bytes.length - (bytes.length % 3);
  for (let i = 0; i < whole; i += 3) {
    const bits = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text +=
      URL_SAFE.charAt(bits >>> 18) +
      URL_SAFE.charAt((bits >>> 12) & 63) +
      URL_SAFE.charAt((bits >>> 6) & 63) +
      URL_SAFE.charAt(bits & 63);
  }
  const rest = bytes.length - whole;
  if (rest === 0) return text;
  const bits = ((bytes[whole] ?? 0) << 16) | ((rest === 2 ? (bytes[whole + 1] ?? 0) : 0) << 8);
  text += URL_SAFE.charAt(bits >>> 18) + URL_SAFE.charAt((bits >>> 12) & 63);
  return rest === 2 ? text + URL_SAFE.charAt((bits >>> 6) & 63) : text;
}

/** Undefined when the text is not URL-safe base64 without padding. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  return decode(text, text.length, URL_SAFE_VALUES);
}

/** Decodes the first `length` characters, which hold no padding. */
function decode(text: string, length: number, values: Int8Array): Uint8Array | undefined {
  const rest = length % 4;
  if (rest === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let at = 0;
  let bits = 0;
  let bitCount = 0;
  for (let i = 0; i < length; i++) {
    const value = values[text.charCodeAt(i)] ?? NOT_A_DIGIT;
    if (value === NOT_A_DIGIT) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[at++] = bits >>> bitCount;
    }
  }
  return (bits & ((1 << bitCount) - 1)) === 0 ? bytes : undefined;
}
