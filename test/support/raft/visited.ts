/**
 * The states that a search has seen: a set of 64-bit keys, and from which state and by which of its moves each was
 * first reached. 14 bytes a state and the room for growth; a JavaScript set ends at 2^24.
 */
import { assert } from '#base';

const SLOTS_MIN = 2 ** 16;
/** A third is left free, so that a search for a free slot stays short. */
const LOAD_MAX = 0.67;
const CHUNK = 2 ** 20;

/** Open addressing with linear probing over two words a slot; a slot of two zeros is free. */
export class KeySet {
  #slots: Uint32Array = new Uint32Array(2 * SLOTS_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether it was new. */
  add(high: number, low: number): boolean {
    if (this.#size >= (this.#slots.length / 2) * LOAD_MAX) this.#grow();
    // The key of two zeros is kept as another one, which it then cannot be told from.
    const isNew = put(this.#slots, high, high === 0 && low === 0 ? 1 : low);
    if (isNew) this.#size += 1;
    return isNew;
  }

  #grow(): void {
    const { length } = this.#slots;
    const grown = new Uint32Array(2 * length);
    for (let at = 0; at < length; at += 2) {
      const high = this.#slots[at] ?? 0;
      const low = this.#slots[at + 1] ?? 0;
      if (high !== 0 || low !== 0) put(grown, high, low);
    }
    this.#slots = grown;
  }
}

function put(slots: Uint32Array, high: number, low: number): boolean {
  const mask = slots.length / 2 - 1;
  for (let slot = low & mask; ; slot = (slot + 1) & mask) {
    const oneHigh = slots[2 * slot];
    const oneLow = slots[2 * slot + 1];
    if (oneHigh === high && oneLow === low) return false;
    if (oneHigh !== 0 || oneLow !== 0) continue;
    slots[2 * slot] = high;
    slots[2 * slot + 1] = low;
    return true;
  }
}

/** How each state was reached; states are numbered from 0 on, which is the beginning. */
export class Ways {
  readonly #before: Uint32Array[] = [];
  readonly #moves: Uint16Array[] = [];
  #size = 0;

  add(before: number, move: number): void {
    assert(move < 2 ** 16, 'A state has fewer moves than a way can tell apart', move);
    const at = this.#size % CHUNK;
    if (at === 0) {
      this.#before.push(new Uint32Array(CHUNK));
      this.#moves.push(new Uint16Array(CHUNK));
    }
    const last = this.#before.length - 1;
    const before32 = this.#before[last];
    const moves = this.#moves[last];
    assert(before32 !== undefined && moves !== undefined, 'There is room');
    before32[at] = before;
    moves[at] = move;
    this.#size += 1;
  }

  before(state: number): number {
    return this.#before[Math.floor(state / CHUNK)]?.[state % CHUNK] ?? 0;
  }

  move(state: number): number {
    return this.#moves[Math.floor(state / CHUNK)]?.[state % CHUNK] ?? 0;
  }
}
