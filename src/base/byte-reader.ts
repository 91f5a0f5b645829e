/**
 * A cursor over bytes: the counterpart of `ByteWriter`.
 *
 * Reading never throws. A read past the end, a varint of more than 10 bytes or above 2^53 - 1 returns 0 or nothing and
 * sets `failed`, which stays set: read a whole record, then check it once. A varint with more bytes than its value
 * needs fails, too. So equal content has one encoding, which may be compared and hashed as bytes. `ProtoReader` accepts
 * such varints, because protobuf allows them.
 */
import { decodeUtf8 } from './utf8.ts';

const TWO_32 = 2 ** 32;
const EMPTY: Uint8Array = new Uint8Array(0);

export class ByteReader {
  /** Where the next read starts. May be set by the owner of the reader. */
  at: number;
  readonly end: number;
  readonly source: Uint8Array;
  #failed = false;

  constructor(source: Uint8Array, from: number = 0, to: number = source.length) {
    this.source = source;
    this.at = from;
    this.end = to;
  }

  /** True once a read met the end or a malformed number. */
  get failed(): boolean {
    return this.#failed;
  }

  get left(): number {
    return this.end - this.at;
  }

  u8(): number {
    if (!this.#has(1)) return 0;
    return this.source[this.at++] ?? 0;
  }

  u16be(): number {
    return this.u8() * 0x100 + this.u8();
  }

  u32be(): number {
    return this.u16be() * 0x10000 + this.u16be();
  }

  u32le(): number {
    return this.u8() + this.u8() * 0x100 + this.u8() * 0x10000 + this.u8() * 0x1000000;
  }

  u64be(): number {
    return this.#safe(this.u32be() * TWO_32 + this.u32be());
  }

  u64le(): number {
    return this.#safe(this.u32le() + this.u32le() * TWO_32);
  }

  varint(): number {
    const first = this.u8();
    return first < 0x80 ? first : this.#longVarint(first & 0x7f);
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** The next bytes as a view into the source. */
  bytes(count: number): Uint8Array {
    if (!this.#has(count)) return EMPTY;
    this.at += count;
    return this.source.subarray(this.at - count, this.at);
  }

  /** The next bytes as text; they must be UTF-8. */
  utf8(count: number): string {
    if (!this.#has(count)) return '';
    this.at += count;
    const text = decodeUtf8(this.source, this.at - count, this.at);
    if (text === undefined) this.#failed = true;
    return text ?? '';
  }

  skip(count: number): void {
    if (this.#has(count)) this.at += count;
  }

  #longVarint(low: number): number {
    let value = low;
    for (let scale = 0x80; ; scale *= 0x80) {
      const next = this.u8();
      value += (next & 0x7f) * scale;
      if (next < 0x80) return next === 0 ? this.#fail() : this.#safe(value);
      // 2^63 is the scale of the tenth and last byte.
      if (scale >= 2 ** 63) return this.#fail();
    }
  }

  #has(count: number): boolean {
    if (count >= 0 && count <= this.end - this.at) return true;
    this.#failed = true;
    return false;
  }

  #safe(value: number): number {
    return Number.isSafeInteger(value) ? value : this.#fail();
  }

  #fail(): number {
    this.#failed = true;
    return 0;
  }
}
