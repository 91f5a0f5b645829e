/** Bytes as hexadecimal text, two lowercase digits a byte. */

const DIGITS = /^(?:[0-9a-f]{2})*$/i;

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
