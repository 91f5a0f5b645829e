/**
 * Splits a core module, or a component, into sections.
 *
 * ```
 *   binary  := preamble, section*
 *   section := u8 id, u32 size, so many bytes
 * ```
 */
import { SECTIONS_MAX } from '../limits.ts';
import { BinaryReader, type Span } from './binary-reader.ts';
import { Refused } from './refusal.ts';

export const PREAMBLE_BYTES = 8;

export interface Section extends Span {
  readonly id: number;
  /** Offset of its id; `from` is the offset of its contents. */
  readonly at: number;
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d] as const;
const MODULE = [0x01, 0x00, 0x00, 0x00] as const;
const COMPONENT = [0x0d, 0x00, 0x01, 0x00] as const;

/** The kind of binary, by its first eight bytes. */
export function preambleOf(bytes: Uint8Array, at: number = 0): 'module' | 'component' | 'other' {
  const has = (expected: readonly number[], from: number): boolean =>
    expected.every((byte, i) => bytes[at + from + i] === byte);
  if (!has(MAGIC, 0)) return 'other';
  if (has(MODULE, MAGIC.length)) return 'module';
  return has(COMPONENT, MAGIC.length) ? 'component' : 'other';
}

/** The sections of a part that begins with the preamble of its kind. */
export function* readSections(bytes: Uint8Array, part: Span, kind: 'module' | 'component'): Generator<Section> {
  if (part.to - part.from < PREAMBLE_BYTES || preambleOf(bytes, part.from) !== kind) {
    const message = `The ${part.to - part.from} bytes at ${part.from} are not a ${kind} of a supported version`;
    throw new Refused('InvalidComponent', part.from, `${message}; they must begin with its magic and version`);
  }
  const reader = new BinaryReader(bytes, { from: part.from + PREAMBLE_BYTES, to: part.to });
  for (let count = 1; !reader.isAtEnd; count++) {
    const at = reader.at;
    if (count > SECTIONS_MAX) {
      throw new Refused('TooLarge', at, `The ${kind} has more than ${SECTIONS_MAX} sections, the limit`);
    }
    const id = reader.u8();
    yield { id, at, ...reader.span(reader.u32()) };
  }
}
