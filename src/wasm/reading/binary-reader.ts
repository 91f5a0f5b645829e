/**
 * A cursor over WebAssembly: bytes, LEB128 numbers, names.
 *
 * Reading past the end, a number longer or larger than its type allows, and a name that is not UTF-8 are refused as
 * InvalidComponent, an unsafe name as UnsafeName (G1). Numbers may be padded to the full length of their type, because
 * linkers do that, but no further. Offsets count from the start of the whole binary, also in a nested part.
 */
import { decodeUtf8 } from '#base';
import { nameFault } from './names.ts';
import { Refused } from './refusal.ts';

/** A part of a binary, half-open. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export class BinaryReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Offset of the next read. */
  at: number;

  constructor(bytes: Uint8Array, { from, to }: Span = { from: 0, to: bytes.length }) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Returns the next byte without advancing. */
  peek(): number {
    if (this.at >= this.end) throw this.#cutOff();
    return this.bytes[this.at] ?? 0;
  }

  u8(): number {
    if (this.at >= this.end) throw this.#cutOff();
    return this.bytes[this.at++] ?? 0;
  }

  u32(): number {
    const first = this.u8();
    return first < 0x80 ? first : this.#longU32(first & 0x7f);
  }

  /** Steps over a signed number of so many bits: 32, 33 or 64. */
  skipSigned(bits: number): void {
    const from = this.at;
    for (let left = bits; left > 7; left -= 7) if (this.u8() < 0x80) return;
    const last = this.u8();
    // The unused bits of the last byte must repeat the sign bit.
    const signs = (0x7f << ((bits % 7 || 7) - 1)) & 0x7f;
    const isSigned = (last & signs) === 0 || (last & signs) === signs;
    if (last >= 0x80 || !isSigned) throw this.#badNumber(from, `a signed number of ${bits} bits`);
  }

  skip(count: number): void {
    if (count > this.end - this.at) throw this.#cutOff();
    this.at += count;
  }

  /** Returns the next `count` bytes as a span. */
  span(count: number): Span {
    const from = this.at;
    this.skip(count);
    return { from, to: this.at };
  }

  /** A safe name (G1). */
  name(): string {
    const { from, to } = this.span(this.u32());
    const text = decodeUtf8(this.bytes, from, to);
    if (text === undefined) {
      const message = `The ${to - from} bytes of a name at ${from} are not valid UTF-8`;
      throw new Refused('InvalidComponent', from, message);
    }
    const fault = nameFault(text, to - from);
    if (fault !== undefined) throw new Refused('UnsafeName', from, fault);
    return text;
  }

  /** @throws Refused unless everything was read; `what` names the part that should end here. */
  expectEnd(what: string): void {
    if (this.at === this.end) return;
    const message = `There are ${this.end - this.at} bytes after the end of ${what}; nothing may follow it`;
    throw new Refused('InvalidComponent', this.at, message);
  }

  /** The refusal of an unexpected byte. */
  unexpected(at: number, what: string, expected: string): Refused {
    const found = `0x${(this.bytes[at] ?? 0).toString(16).padStart(2, '0')}`;
    return new Refused('InvalidComponent', at, `The byte ${found} is not valid as ${what}: use ${expected}`);
  }

  #longU32(low: number): number {
    const from = this.at - 1;
    let value = low;
    for (let scale = 0x80; scale <= 2 ** 21; scale *= 0x80) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    const last = this.u8();
    if (last > 0x0f) throw this.#badNumber(from, 'an unsigned number of 32 bits');
    return value + last * 2 ** 28;
  }

  #badNumber(from: number, what: string): Refused {
    return new Refused('InvalidComponent', from, `The number at ${from} is not ${what}: it is too long or too large`);
  }

  #cutOff(): Refused {
    const message = `The bytes end at ${this.end}, inside an unfinished part; send all of them`;
    return new Refused('InvalidComponent', this.end, message);
  }
}
