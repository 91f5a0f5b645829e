/**
 * The body of one presentation: output that was not read yet, and the amount that may be produced in advance.
 *
 * The body may be produced more than once: a guest that has lost its turn starts again, and its repeated output is
 * compared and skipped. A guest is deterministic, so the output is the same.
 *
 * F31 A reader gets every byte once and in order, in however many turns it was produced, or a failure.
 */
import { crc32 } from 'node:zlib';
import type { DatabaseError } from '#base';

export type PresentedPart =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly error: DatabaseError };

/** Overhead of a chunk. */
const CHUNK_BYTES = 128;
/** Size of a part for the reader, unless a single chunk is larger. */
const PART_BYTES = 65_536;

export class PresentedBody {
  #chunks: Uint8Array[] = [];
  #heldBytes = 0;
  #madeCount = 0;
  #madeSum = 0;
  /** Bytes repeated in this turn. */
  #seenCount = 0;
  #seenSum = 0;
  #last: PresentedPart | undefined;
  #reader: ((part: PresentedPart) => void) | undefined;

  /** Memory of unread output. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Bytes of the body produced so far. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /** True when all repeated output was seen. */
  get isCaughtUp(): boolean {
    return this.#seenCount === this.#madeCount;
  }

  beginAgain(): void {
    this.#seenCount = 0;
    this.#seenSum = 0;
  }

  /** Returns false when repeated output differs. */
  write(bytes: Uint8Array): boolean {
    const again = bytes.subarray(0, this.#madeCount - this.#seenCount);
    this.#seenCount += again.length;
    if (again.length > 0) {
      this.#seenSum = crc32(again, this.#seenSum);
      if (this.isCaughtUp && this.#seenSum !== this.#madeSum) return false;
    }
    const fresh = bytes.subarray(again.length);
    if (fresh.length === 0 || this.#last !== undefined) return true;
    this.#madeCount += fresh.length;
    this.#seenCount += fresh.length;
    this.#madeSum = crc32(fresh, this.#madeSum);
    this.#seenSum = this.#madeSum;
    this.#heldBytes += fresh.length + CHUNK_BYTES;
    this.#chunks.push(fresh);
    this.#hand();
    return true;
  }

  /** Unread output is read before a normal end; a failure discards it, and may also replace an end. */
  end(last: PresentedPart): void {
    this.#last = last;
    if (last.kind === 'failed') {
      this.#chunks = [];
      this.#heldBytes = 0;
    }
    this.#hand();
  }

  next(): Promise<PresentedPart> {
    return new Promise((resolve) => {
      this.#reader = resolve;
      this.#hand();
    });
  }

  #hand(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    const part = this.#chunks.length > 0 ? this.#taken() : this.#last;
    if (part === undefined) return;
    this.#reader = undefined;
    reader(part);
  }

  /** Joins chunks into a part of a useful size, because a guest may write single bytes. */
  #taken(): PresentedPart {
    let count = 0;
    let byteCount = 0;
    for (const { length } of this.#chunks) {
      if (count > 0 && byteCount + length > PART_BYTES) break;
      byteCount += length;
      count++;
    }
    const taken = this.#chunks.splice(0, count);
    this.#heldBytes -= byteCount + count * CHUNK_BYTES;
    const [first] = taken;
    const bytes = first !== undefined && count === 1 ? first : Buffer.concat(taken, byteCount);
    return { kind: 'bytes', bytes };
  }
}
