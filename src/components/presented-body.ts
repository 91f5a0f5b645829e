/**
 * The body of one presentation: what was made and not taken yet, and how much more may be made ahead of the reader.
 *
 * It may be made more than once: when its guest has lost its turn it begins anew, and what was made before is passed
 * over, after it was compared. A guest has nothing but what it is given, so it makes the same.
 *
 *   F31 A reader gets every byte once and in order, in however many turns they were made, or a failure.
 */
import { crc32 } from 'node:zlib';
import type { DatabaseError } from '#base';

export type PresentedPart =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly error: DatabaseError };

/** What a chunk takes besides its bytes. */
const CHUNK_BYTES = 128;
/** What is handed on at a time, unless one chunk has more. */
const PART_BYTES = 65_536;

export class PresentedBody {
  #chunks: Uint8Array[] = [];
  #heldBytes = 0;
  #madeCount = 0;
  #madeSum = 0;
  /** Of this turn: what was seen again. */
  #seenCount = 0;
  #seenSum = 0;
  #last: PresentedPart | undefined;
  #reader: ((part: PresentedPart) => void) | undefined;

  /** What waits for the reader, in bytes of memory. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Bytes of the body so far, in the first making. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /** Whether all that was made before has been made again. */
  get isCaughtUp(): boolean {
    return this.#seenCount === this.#madeCount;
  }

  beginAgain(): void {
    this.#seenCount = 0;
    this.#seenSum = 0;
  }

  /** False: it is not what was made before. */
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

  /** What waits is read before an end, and not before a failure, which may come behind an end. */
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

  /** As many chunks as make a good part: a guest may write bytes one by one. */
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
