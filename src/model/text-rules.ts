/**
 * Rules for texts, checked on their UTF-8 bytes without building strings: ids, types, subjects, and attribute values.
 *
 * Control characters are U+0000 to U+001F and U+007F to U+009F. A blank text has only white space (Unicode's property
 * White_Space). So an index key never contains a null byte. (M2)
 */
import { codePointAt, encodeUtf8, sequenceLength } from '#base';
import { NAME_BYTES_MAX } from './limits.ts';

export type TextFault = 'empty' | 'too-long' | 'ill-formed' | 'control' | 'blank';

/** The first violated rule of names: 1 to 255 bytes of UTF-8, not blank, no control characters. */
export function nameFault(bytes: Uint8Array, from: number, to: number): TextFault | undefined {
  if (from === to) return 'empty';
  if (to - from > NAME_BYTES_MAX) return 'too-long';
  return textFault(bytes, from, to) ?? (isBlank(bytes, from, to) ? 'blank' : undefined);
}

export function nameFaultIn(text: string): TextFault | undefined {
  if (!text.isWellFormed()) return 'ill-formed';
  const bytes = encodeUtf8(text);
  return nameFault(bytes, 0, bytes.length);
}

/** The rule that a name breaks, or undefined. */
export function nameRule(text: string): string | undefined {
  const fault = nameFaultIn(text);
  return fault && describeTextFault(fault, NAME_BYTES_MAX);
}

/** Well-formed UTF-8 without control characters; may be empty. */
export function textFault(bytes: Uint8Array, from: number, to: number): TextFault | undefined {
  let i = from;
  while (i < to) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x20 && byte < 0x7f) {
      i++;
      continue;
    }
    if (byte <= 0x7f) return 'control';
    const length = sequenceLength(bytes, i, to);
    if (length === 0) return 'ill-formed';
    // C2 80 to C2 9F are U+0080 to U+009F.
    if (byte === 0xc2 && (bytes[i + 1] ?? 0) < 0xa0) return 'control';
    i += length;
  }
  return undefined;
}

/** Expects well-formed UTF-8. The first character decides for nearly every text. */
function isBlank(bytes: Uint8Array, from: number, to: number): boolean {
  let i = from;
  while (i < to) {
    const length = sequenceLength(bytes, i, to);
    if (!isWhiteSpace(codePointAt(bytes, i, length))) return false;
    i += length;
  }
  return true;
}

function isWhiteSpace(point: number): boolean {
  if (point <= 0xa0) return point === 0x20 || point === 0xa0 || (point >= 0x09 && point <= 0x0d) || point === 0x85;
  if (point >= 0x2000 && point <= 0x200a) return true;
  return (
    point === 0x1680 || point === 0x2028 || point === 0x2029 || point === 0x202f || point === 0x205f || point === 0x3000
  );
}

/** The rule in words, for a fault. */
export function describeTextFault(fault: TextFault, bytesMax: number): string {
  if (fault === 'too-long') return `must be at most ${bytesMax} bytes of UTF-8`;
  return RULES[fault];
}

const RULES: Record<Exclude<TextFault, 'too-long'>, string> = {
  empty: 'must not be empty',
  'ill-formed': 'must be well-formed UTF-8',
  control: 'must not contain control characters',
  blank: 'must not be blank',
};
