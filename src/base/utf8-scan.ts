/** Examines UTF-8 in place, without decoding it: validity, the character at an offset, the length of a text. */

/** Length of the text in UTF-8. A lone surrogate counts 3 bytes, like its replacement. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= 0x7f) continue;
    length += unit <= 0x7ff ? 1 : 2;
    // A pair is two code units and four bytes: the low half adds nothing more.
    if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) i++;
  }
  return length;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * Index of the first byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
 * above U+10FFFF), or -1.
 */
export function indexOfIllFormed(bytes: Uint8Array, from: number = 0, to: number = bytes.length): number {
  let i = from;
  while (i < to) {
    if ((bytes[i] ?? 0) <= 0x7f) {
      i++;
      continue;
    }
    const length = sequenceLength(bytes, i, to);
    if (length === 0) return i;
    i += length;
  }
  return -1;
}

/** Length of the well-formed sequence at `at` inside `[at, to)`, 1 to 4; 0 when the bytes are malformed. */
export function sequenceLength(bytes: Uint8Array, at: number, to: number): number {
  const lead = bytes[at] ?? 0;
  if (lead <= 0x7f) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + length > to) return 0;
  const second = bytes[at + 1] ?? 0;
  if (second < lowestSecond(lead) || second > highestSecond(lead)) return 0;
  for (let i = 2; i < length; i++) {
    if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Keeps overlong forms out (E0, F0). */
function lowestSecond(lead: number): number {
  if (lead === 0xe0) return 0xa0;
  if (lead === 0xf0) return 0x90;
  return 0x80;
}

/** Keeps surrogates (ED) and code points above U+10FFFF (F4) out. */
function highestSecond(lead: number): number {
  if (lead === 0xed) return 0x9f;
  if (lead === 0xf4) return 0x8f;
  return 0xbf;
}

/** The code point of a well-formed sequence of that length. */
export function codePointAt(bytes: Uint8Array, at: number, length: number): number {
  const lead = bytes[at] ?? 0;
  if (length === 1) return lead;
  let point = lead & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) point = (point << 6) | ((bytes[at + i] ?? 0) & 0x3f);
  return point;
}
