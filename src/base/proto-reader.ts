/**
 * A cursor over untrusted protobuf in wire format.
 *
 * It never throws. Reading past the end, a varint of more than ten bytes or beyond 2^53 - 1 sets `failed`, returns 0
 * and stays at the end, so that a loop over fields ends by itself; the caller checks `failed` once, after the loop.
 * Only `uint64()` and `int64()` return larger values, as a bigint. Any varint may have up to ten bytes, however few its
 * value needs: protobuf allows it, and clients may write so. `overlong` is set when a varint was longer than necessary:
 * valid protobuf, but not canonical.
 */

const TWO_28 = 0x1000_0000;
const VARINT_BYTES_MAX = 10;

/** Groups inside groups; no message of ours has any. */
const GROUP_DEPTH_MAX = 32;

/** Field numbers end at 2^29 - 1, so a tag has at most 32 bits. */
const TAG_MAX = 0xffff_ffff;

export class ProtoReader {
  readonly bytes: Uint8Array;
  at: number;
  end: number;
  failed = false;
  overlong = false;

  constructor(bytes: Uint8Array, from: number = 0, to: number = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  /** Ends the reading: the caller cannot interpret the bytes. */
  fail(): number {
    this.failed = true;
    this.at = this.end;
    return 0;
  }

  /** Eight bytes, little-endian; fails beyond 2^53 - 1. */
  fixed64(): number {
    const at = this.skipBytes(8);
    if (this.failed) return 0;
    let value = 0;
    for (let i = 7; i >= 0; i--) value = value * 0x100 + (this.bytes[at + i] ?? 0);
    return this.#safe(value);
  }

  /** An unsigned varint below 2^53. */
  varint(): number {
    const first = this.bytes[this.at] ?? 0;
    if (first <= 0x7f && this.at < this.end) {
      this.at++;
      return first;
    }
    return this.#longVarint();
  }

  /** A protobuf uint64 of a request; a bigint from 2^53 on, and only then. */
  uint64(): number | bigint {
    const first = this.bytes[this.at] ?? 0;
    if (first <= 0x7f && this.at < this.end) {
      this.at++;
      return first;
    }
    const start = this.at;
    const value = this.#anyVarint();
    return Number.isSafeInteger(value) ? value : this.#exact(start);
  }

  /** A protobuf int64 of a request; a bigint outside the safe integers, and only there. */
  int64(): number | bigint {
    const value = this.uint64();
    if (typeof value === 'number') return value;
    const signed = BigInt.asIntN(64, value);
    return signed < 0n && -signed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(signed) : signed;
  }

  /** A signed 64-bit varint (protobuf int32 and int64); fails outside the safe integers. */
  signedVarint(): number {
    const start = this.at;
    const value = this.int64();
    // The tenth byte has room for one bit of the 64; more are dropped, as every decoder does.
    if (this.at - start === VARINT_BYTES_MAX && (this.bytes[this.at - 1] ?? 0) > 1) this.overlong = true;
    return typeof value === 'number' ? value : this.fail();
  }

  /** Field number times 8 plus wire type; fails on field 0. */
  tag(): number {
    const tag = this.varint();
    if (tag < 8 || tag > TAG_MAX) return this.fail();
    return tag;
  }

  /** Reads a length and skips that many bytes; returns where they begin. `at` is where they end. */
  lengthDelimited(): number {
    return this.skipBytes(this.varint());
  }

  /** Reads a length and that many bytes: a view. */
  view(): Uint8Array {
    const start = this.lengthDelimited();
    return this.bytes.subarray(start, this.at);
  }

  /** Reads a length and skips that many bytes; returns a reader of them. */
  message(): ProtoReader {
    const start = this.lengthDelimited();
    return new ProtoReader(this.bytes, this.failed ? this.at : start, this.at);
  }

  /** Skips `count` bytes and returns where they begin. */
  skipBytes(count: number): number {
    const start = this.at;
    if (count > this.end - start) return this.fail();
    this.at = start + count;
    return start;
  }

  /** Skips the value of a field; `tag` is the result of `tag()`. A group must be closed by its own end tag. */
  skipField(tag: number): void {
    const open: number[] = [];
    let current = tag;
    for (;;) {
      const wireType = current % 8;
      if (wireType === 3) open.push(current + 1);
      else if (wireType === 4) {
        if (open.pop() !== current) this.fail();
      } else this.#skipValue(wireType);
      if (open.length === 0 || this.failed) return;
      if (open.length > GROUP_DEPTH_MAX) {
        this.fail();
        return;
      }
      current = this.tag();
    }
  }

  #skipValue(wireType: number): void {
    if (wireType === 0) this.#skipVarint();
    else if (wireType === 1) this.skipBytes(8);
    else if (wireType === 2) this.lengthDelimited();
    else if (wireType === 5) this.skipBytes(4);
    else this.fail();
  }

  #byte(): number {
    if (this.at >= this.end) return this.fail();
    return this.bytes[this.at++] ?? 0;
  }

  #skipVarint(): void {
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      if (this.#byte() <= 0x7f) return;
    }
    this.fail();
  }

  #longVarint(): number {
    return this.#safe(this.#anyVarint());
  }

  /**
   * The varint from `start` to here. The tenth byte has room for one bit of the 64; more are dropped, as every decoder
   * does.
   */
  #exact(start: number): number | bigint {
    let value = 0n;
    for (let i = this.at - 1; i >= start; i--) value = (value << 7n) | BigInt((this.bytes[i] ?? 0) & 0x7f);
    const kept = BigInt.asUintN(64, value);
    return kept > BigInt(Number.MAX_SAFE_INTEGER) ? kept : Number(kept);
  }

  /** Exact below 2^53; larger values are rounded, but never below it. */
  #anyVarint(): number {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte <= 0x7f) return this.#shortest(byte, low);
    }
    let high = 0;
    let scale = 1;
    for (let i = 4; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#byte();
      high += (byte & 0x7f) * scale;
      scale *= 0x80;
      if (byte <= 0x7f) return this.#shortest(byte, high * TWO_28 + low);
    }
    return this.fail();
  }

  #shortest(lastByte: number, value: number): number {
    if (lastByte !== 0) return value;
    // A truncated varint also ends so.
    if (this.failed) return 0;
    this.overlong = true;
    return value;
  }

  #safe(value: number): number {
    return Number.isSafeInteger(value) ? value : this.fail();
  }
}
