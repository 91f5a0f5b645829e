/**
 * The canonical ABI: the layout of component model values in memory and in the parameters of core functions.
 *
 * A type is turned into an `Abi` once, which loads, stores, lifts and lowers its values. In memory every value has a
 * size and an alignment; flat, it is a list of core values, unless it needs more than 16. Loads and stores check no
 * bounds: the caller has checked the whole value with `Canon.expect`.
 *
 *   G12 A lifted value is a value of its type, or the call ends in AbiViolation: an invalid discriminant, character or
 *       string is never read as a valid one.
 */
import type { CoreValue } from '../engine.ts';
import { abiViolation } from '../faults.ts';
import type { Canon } from './canon.ts';
import type { Value } from './values.ts';

export type CoreType = 'i32' | 'i64' | 'f32' | 'f64';

export interface Abi {
  readonly size: number;
  readonly align: number;
  /** Absent when the type needs more flat values than the maximum. */
  readonly flat: readonly CoreType[] | undefined;
  load(canon: Canon, at: number): Value;
  store(canon: Canon, value: Value, at: number): void;
  lift(canon: Canon, from: FlatSource): Value;
  lower(canon: Canon, value: Value, into: CoreValue[]): void;
}

/** Maximum number of flat parameters of a function, and of flat results. */
export const FLAT_PARAMETERS_MAX = 16;
export const FLAT_RESULTS_MAX = 1;

/** Core values, one after the other. */
export class FlatSource {
  readonly #values: readonly (CoreValue | undefined)[];
  #at = 0;

  constructor(values: readonly (CoreValue | undefined)[]) {
    this.#values = values;
  }

  get at(): number {
    return this.#at;
  }

  skipTo(at: number): void {
    this.#at = at;
  }

  i32(): number {
    const value = this.#values[this.#at++];
    if (typeof value === 'number') return value >>> 0;
    // The value of a variant case: its position is 64 bits wide because of another case.
    if (typeof value === 'bigint') return Number(BigInt.asUintN(32, value));
    throw missing();
  }

  i64(): bigint {
    const value = this.#values[this.#at++];
    if (typeof value === 'bigint') return value;
    throw missing();
  }

  f32(): number {
    const value = this.#values[this.#at++];
    if (typeof value === 'number') return value;
    throw missing();
  }
}

function missing(): Error {
  return abiViolation('A core function returned other values than its type in the component declares');
}

export function alignedTo(at: number, align: number): number {
  return Math.ceil(at / align) * align;
}

/** The flat forms one after the other; absent when they are too many, or one of them is absent. */
export function joined(parts: readonly Pick<Abi, 'flat'>[]): readonly CoreType[] | undefined {
  const all: CoreType[] = [];
  for (const { flat } of parts) {
    if (flat === undefined || all.length + flat.length > FLAT_PARAMETERS_MAX) return undefined;
    all.push(...flat);
  }
  return all;
}

/** A host function, or a nested component, gave a value that is not of the declared type. */
export function notOf(type: string, value: Value): Error {
  return new TypeError(`A value of the type ${typeof value} cannot be passed to a guest as a ${type}`);
}
