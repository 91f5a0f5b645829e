/**
 * Heads of the new subjects of one flush, most of which have one event and are never looked up again: a hash table, and
 * objects and bytes that every flush reuses, so that a new subject creates no garbage.
 *
 * A head that is looked up while it is here leaves the pool (`LiveHead.keep`); it can still be found until `clear`.
 */
import { HEAD_KIND } from './keys.ts';
import { LiveHead } from './live-head.ts';

/** A node may have thousands of databases in memory that are hardly used: nothing is there before the first head. */
const START_SLOTS = 64;
const START_BYTES = 1024;
/** Objects and slots that stay for the flushes to come; a flush may have more of them. */
const KEPT_MAX = 16 * 1024;
const BYTES_KEPT_MAX = 1024 * 1024;
const NO_TERM = { kind: HEAD_KIND.SUBJECT, term: new Uint8Array(0) };

export class FreshHeads {
  /** The first `#count` are in use. */
  readonly #heads: LiveHead[] = [];
  #count = 0;
  /** Open addressing; a slot holds a place in `#heads` + 1, 0 is free. */
  #slots = new Int32Array(0);
  /** The hash of each head. */
  #hashes = new Int32Array(0);
  #terms = new Uint8Array(0);
  #termsEnd = 0;

  find(hash: number, bytes: Uint8Array, from: number, to: number): LiveHead | undefined {
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = this.#slots[slot] ?? 0;
      if (place === 0) return undefined;
      if (this.#hashes[place - 1] !== hash) continue;
      const head = this.#heads[place - 1];
      if (head?.isOf(bytes, from, to)) return head;
    }
  }

  /** The head of a subject that has none yet. */
  add(hash: number, bytes: Uint8Array, from: number, to: number): LiveHead {
    if (2 * (this.#count + 1) > this.#slots.length) this.#grow();
    let head = this.#heads[this.#count];
    if (head === undefined || !head.isLent) {
      head = new LiveHead(NO_TERM, 0);
      this.#heads[this.#count] = head;
    }
    const start = this.#reserve(to - from);
    for (let at = from; at < to; at++) this.#terms[start + at - from] = bytes[at] ?? 0;
    this.#termsEnd = start + to - from;
    head.begin(this.#terms, start, this.#termsEnd);
    this.#hashes[this.#count] = hash;
    this.#count++;
    this.#place(hash, this.#count);
    return head;
  }

  /** The heads are in the store. */
  clear(): void {
    this.#count = 0;
    this.#termsEnd = 0;
    if (this.#terms.length > BYTES_KEPT_MAX) this.#terms = new Uint8Array(START_BYTES);
    if (this.#slots.length <= KEPT_MAX) {
      this.#slots.fill(0);
      return;
    }
    this.#slots = new Int32Array(START_SLOTS);
    this.#hashes = new Int32Array(START_SLOTS / 2);
    this.#heads.length = 0;
  }

  /** Where so many bytes find room. Heads with terms in the bytes before keep those. */
  #reserve(count: number): number {
    if (this.#termsEnd + count <= this.#terms.length) return this.#termsEnd;
    this.#terms = new Uint8Array(Math.max(START_BYTES, 2 * this.#terms.length, count));
    return 0;
  }

  #place(hash: number, place: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = place;
  }

  #grow(): void {
    this.#slots = new Int32Array(Math.max(START_SLOTS, 2 * this.#slots.length));
    const hashes = new Int32Array(this.#slots.length / 2);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    for (let at = 0; at < this.#count; at++) this.#place(hashes[at] ?? 0, at + 1);
  }
}
