/**
 * What is in flight, by number: a table that is filled and emptied for ever without leaving garbage behind.
 *
 * A Map or Set cannot be used so. Its table is replaced each time deleted entries have filled it, and the one before
 * keeps what it held, and a pointer to the one that followed it. Once such a table has grown old, V8's collections of
 * young objects take it to be alive, and with it the whole chain of its successors: everything that was ever in flight
 * stays until the next full collection. Here a slot is emptied where it is.
 *
 * ```
 *   number = generation of the slot × 2^20 + slot
 * ```
 * so that a number is not given twice: 2^33 values may pass through each slot.
 */
import { assert } from './assert.ts';

const SLOTS_MAX = 2 ** 20;

export class Slots<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The number that the slot has, or will have with its next value. */
  readonly #numbers: number[] = [];
  readonly #free: number[] = [];

  /** Values that are in it now. */
  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Answers the number of the value, 0 to 2^53 − 1. At most 2^20 values at a time. */
  add(value: Value): number {
    const slot = this.#free.pop() ?? this.#grow();
    this.#values[slot] = value;
    return this.#numberOf(slot);
  }

  /** Undefined when no value has this number any more, or ever had. */
  get(number: number): Value | undefined {
    const slot = number % SLOTS_MAX;
    return this.#numbers[slot] === number ? this.#values[slot] : undefined;
  }

  /** Takes the value out; undefined as in `get`. */
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

  /**
   * In no order that means something. Values may be added and removed meanwhile; it is open whether added ones come.
   */
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
