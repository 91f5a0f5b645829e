/** Helpers for tests of #model: inputs as text, and the result or faults of parsing. */
import { encodeUtf8, parseHex } from '#base';
import { Faults, type JsonNode, parseJson } from '#model';

/** Bytes of hexadecimal digits, which may contain blanks. */
export function hex(text: string): Uint8Array {
  const bytes = parseHex(text.replaceAll(' ', ''));
  if (bytes === undefined) throw new Error(`bad hex ${text}`);
  return bytes;
}

export function nodeOf(text: string): JsonNode {
  const node = parseJson(encodeUtf8(text));
  if (node.kind === 'fault') throw new Error(node.message);
  return node;
}

export function textsOf({ violations }: Faults): readonly string[] {
  return violations.map(({ field, description }) => `${field} ${description}`);
}

/** The parsed value, or all faults. */
export function outcome<Value>(read: (faults: Faults) => Value): Value | readonly string[] {
  const faults = new Faults();
  const value = read(faults);
  return faults.none ? value : textsOf(faults);
}
