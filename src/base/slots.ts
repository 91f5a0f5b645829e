/**
 * A table of in-flight items by number, which can be filled and emptied indefinitely without leaving garbage.
 *
 * A Map or Set cannot be used so. It replaces its table each time deleted entries have filled it. The old table keeps
 * its entries and a pointer to its successor. Once such a table is in V8's old generation, minor collections keep it
 * and the chain of its successors: everything that was ever in flight stays until the next full collection. Here slots
 * are emptied in place.
 *
 * ```
 *   number = generation of the slot × 2^20 + slot
 * ```
 * No number is assigned twice: 2^33 values may pass through each slot.
 */
import { assert } from './assert.ts';

const SLOTS_MAX = 2 ** 20;

export class Slots<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The number of the slot's value, or of its next one. */
  readonly #numbers: number[] = [];
  readonly #free: number[] = [];

  /** Number of values. */
  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Returns the number of the value, 0 to 2^53 − 1. At most 2^20 values at a time. */
  add(value: Value): number {
    const slot = this.#free.pop() ?? this.#grow();
    this.#values[slot] = value;
    return this.#numberOf(slot);
  }

  /** Undefined when no value has this number. */
  get(number: number): Value | undefined {
    const slot = number % SLOTS_MAX;
    return this.#numbers[slot] === number ? this.#values[slot] : undefined;
  }

  /** Removes and returns the value; undefined as in `get`. */
  remove(number: number): Value | undefined {
    const value = this.get(number);
    if (value === undefined) return undefined;
    const slot = number % SLOTS_MAX;
    this.#values[slot] = undefined;
    this.#numbers[slot] = number + SLOTS_MAX;
    this.#free.push(slot);
    return value;
  }

  /** Each with its number, as in `values`. */
  *entries(): Generator<readonly [number, Value], void> {
    for (let slot = 0; slot < this.#values.length; slot++) {
      const value = this.#values[slot];
      if (value !== undefined) yield [this.#numberOf(slot), value];
    }
  }

  /** Yields the values in no defined order. Values may be added and removed meanwhile; added ones may be missing. */
  *values(): Generator<Value, void> {
    for (let slot = 0; slot < this.#values.length; slot++) {
      const value = this.#values[slot];
      if (value !== undefined) yield value;
    }
  }

  #grow(): number {
    const slot = this.#values.length;
    assert(slot < SLOTS_MAX, 'No more than 2^20 values are in flight', slot);
    this.#values.push(undefined);
    this.#numbers.push(slot);
    return slot;
  }

  #numberOf(slot: number): number {
    const number = this.#numbers[slot];
    assert(number !== undefined, 'A slot has a number', slot);
    return number;
  }
}
