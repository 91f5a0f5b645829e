/**
 * The event ids of one flush, from their assignment until their rows are in the store: a hash table from the hash of
 * (stream, stored id) to the position of the event.
 *
 * Two events may share a hash without sharing an id. They then share one row with several positions, and each lookup
 * compares the events themselves.
 */
import { assert, ByteWriter } from '#base';
import type { KvBatch } from '#kv';
import { putRow } from './corruption.ts';
import type { RowKeys } from './keys.ts';
import type { EventPlace } from './posting.ts';
import { writeEventIdRow, writeLoneEventIdRow } from './small-rows.ts';

/** A node may have thousands of databases in memory that are hardly used. */
const START_SLOTS = 64;
/** Slots that stay for the flushes to come; a flush may have more of them. */
const KEPT_MAX = 16 * 1024;
/** Beside 32 bits of a hash a safe integer has room for so many places. */
const COUNT_MAX = 2 ** 21;

export interface PendingId {
  high: number;
  low: number;
  revision: number;
  index: number;
  position: number;
  /** Events of earlier flushes with the same hash. Undefined: there are none. */
  others: readonly EventPlace[] | undefined;
}

export class PendingIds {
  readonly #row = new ByteWriter(64);
  /** Kept for the next flush: `#count` says how many are in use. */
  readonly #ids: PendingId[] = [];
  #count = 0;
  /** Open addressing; a slot holds a place in `#ids` + 1, 0 is free. */
  #slots = new Int32Array(0);

  get count(): number {
    return this.#count;
  }

  /** Adds an id. The position of its bytes is filled in by the caller, once it is known. */
  add(high: number, low: number, revision: number, index: number): PendingId {
    if (2 * (this.#count + 1) > this.#slots.length) this.#grow();
    const id = this.#ids[this.#count] ?? this.#make();
    id.high = high;
    id.low = low;
    id.revision = revision;
    id.index = index;
    id.others = undefined;
    this.#count++;
    this.#place(id, this.#count);
    return id;
  }

  /** The ids with this hash, in no order. */
  *withHash(high: number, low: number): Generator<PendingId> {
    const mask = this.#slots.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const place = this.#slots[slot] ?? 0;
      if (place === 0) return;
      const id = this.#ids[place - 1];
      if (id !== undefined && id.low === low && id.high === high) yield id;
    }
  }

  has(high: number, low: number): boolean {
    const mask = this.#slots.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const place = this.#slots[slot] ?? 0;
      if (place === 0) return false;
      const id = this.#ids[place - 1];
      if (id !== undefined && id.low === low && id.high === high) return true;
    }
  }

  /**
   * In the order of their keys: each row then goes into the store's table in memory near the one before, where the way
   * to its place has just been walked. In the order of the events each would be somewhere else.
   */
  flushInto(batch: KvBatch, keys: RowKeys): void {
    for (const ranked of this.#inOrder()) {
      const id = this.#ids[ranked & (COUNT_MAX - 1)];
      if (id === undefined) continue;
      this.#row.reset();
      if (id.others === undefined) writeLoneEventIdRow(this.#row, id);
      else writeEventIdRow(this.#row, [...id.others, ...this.withHash(id.high, id.low)]);
      putRow(batch, keys.eventId(id.high, id.low), this.#row);
    }
  }

  /** Indices of the ids in use, each after the upper half of its hash, ascending. */
  #inOrder(): Float64Array {
    assert(this.#count <= COUNT_MAX, 'The ids of one flush can be put in order', this.#count);
    const ranked = new Float64Array(this.#count);
    for (let at = 0; at < this.#count; at++) ranked[at] = (this.#ids[at]?.high ?? 0) * COUNT_MAX + at;
    return ranked.toSorted();
  }

  clear(): void {
    this.#count = 0;
    if (this.#slots.length <= KEPT_MAX) {
      this.#slots.fill(0);
      return;
    }
    this.#slots = new Int32Array(START_SLOTS);
    this.#ids.length = 0;
  }

  #make(): PendingId {
    const id = { high: 0, low: 0, revision: 0, index: 0, position: 0, others: undefined };
    this.#ids.push(id);
    return id;
  }

  #place(id: PendingId, place: number): void {
    const mask = this.#slots.length - 1;
    let slot = id.low & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = place;
  }

  #grow(): void {
    this.#slots = new Int32Array(Math.max(START_SLOTS, 2 * this.#slots.length));
    for (let at = 0; at < this.#count; at++) {
      const id = this.#ids[at];
      if (id !== undefined) this.#place(id, at + 1);
    }
  }
}
