/** Maps a component type to its canonical ABI, and wraps calls in both directions. */
import type { CoreFunction, CoreValue } from '../engine.ts';
import type { FunctionType, ValueType } from '../reading/component-types.ts';
import { Refused } from '../reading/refusal.ts';
import { type Abi, FLAT_RESULTS_MAX, FlatSource } from './abi.ts';
import { enumOf, flagsOf, handleOf, optionOf, recordOf, tupleOf, variantOf } from './abi-compounds.ts';
import { BYTES, listOf, TEXT } from './abi-lists.ts';
import { PRIMITIVES } from './abi-primitives.ts';
import type { Canon } from './canon.ts';
import { isList, type Value, type ValueList } from './values.ts';

/** Maximum nesting of types. */
const TYPE_DEPTH_MAX = 50;

/** One `Abi` per type: a type may occur in many places, and many times inside another one. */
const known = new WeakMap<ValueType, Abi>();

/** @throws Refused when types are nested too deeply. */
export function abiOf(type: ValueType, depth: number = 0): Abi {
  const found = known.get(type);
  if (found !== undefined) return found;
  if (depth > TYPE_DEPTH_MAX) {
    throw new Refused('TooLarge', 0, `A type is more than ${TYPE_DEPTH_MAX} deep, the limit for a function`);
  }
  const made = make(type, (inner) => abiOf(inner, depth + 1));
  known.set(type, made);
  return made;
}

function make(type: ValueType, of: (inner: ValueType) => Abi): Abi {
  const maybe = (inner: ValueType | undefined): Abi | undefined => (inner === undefined ? undefined : of(inner));
  switch (type.kind) {
    case 'primitive':
      return type.name === 'string' ? TEXT : primitive(type.name);
    case 'list':
      return type.of.kind === 'primitive' && type.of.name === 'u8' ? BYTES : listOf(of(type.of));
    case 'option':
      return type.of.kind === 'option'
        ? variantOf([
            ['none', undefined],
            ['some', of(type.of)],
          ])
        : optionOf(of(type.of));
    case 'record':
      return recordOf(type.fields.map((field) => [field.name, of(field.type)]));
    case 'tuple':
      return tupleOf(type.items.map((item) => of(item)));
    case 'variant':
      return variantOf(type.cases.map((each) => [each.name, maybe(each.type)]));
    case 'result':
      return variantOf([
        ['ok', maybe(type.value)],
        ['err', maybe(type.error)],
      ]);
    case 'enum':
      return enumOf(type.labels);
    case 'flags':
      return flagsOf(type.labels);
    case 'own':
    case 'borrow':
      return handleOf(type.kind);
  }
}

function primitive(name: string): Abi {
  const found = PRIMITIVES.get(name);
  if (found === undefined) throw new TypeError(`There is no primitive type ${name}`);
  return found;
}

/** A function of values. */
export type Callable = (values: ValueList) => Value;

export interface Lifting {
  readonly core: CoreFunction;
  readonly postReturn: CoreFunction | undefined;
}

/** A guest function for the host to call. */
export function lifted(type: FunctionType, canon: Canon, { core, postReturn }: Lifting): Callable {
  const parameters = parametersOf(type);
  const result = type.result === undefined ? undefined : abiOf(type.result);
  const isFlat = result === undefined || (result.flat !== undefined && result.flat.length <= FLAT_RESULTS_MAX);
  return (values) => {
    canon.refresh();
    const given: CoreValue[] = [];
    if (parameters.flat === undefined) given.push(stored(canon, parameters, values) | 0);
    else parameters.lower(canon, values, given);
    const answer = core(...given);
    canon.refresh();
    if (result === undefined) {
      if (postReturn !== undefined) canon.shut(postReturn, []);
      return undefined;
    }
    const from = new FlatSource([answer]);
    const value = isFlat ? result.lift(canon, from) : loaded(canon, result, from.i32());
    if (postReturn !== undefined && answer !== undefined) canon.shut(postReturn, [answer]);
    return value;
  };
}

/** A function of the host, or of another component, for a guest to call. */
export function lowered(type: FunctionType, canon: Canon, call: Callable): CoreFunction {
  const parameters = parametersOf(type);
  const result = type.result === undefined ? undefined : abiOf(type.result);
  const isFlat = result === undefined || (result.flat !== undefined && result.flat.length <= FLAT_RESULTS_MAX);
  return (...given) => {
    canon.expectOpen();
    canon.refresh();
    const from = new FlatSource(given);
    const values = parameters.flat === undefined ? loaded(canon, parameters, from.i32()) : parameters.lift(canon, from);
    const at = isFlat ? 0 : from.i32();
    const value = call(isList(values) ? values : []);
    // A nested component may have run, and memory may have grown.
    canon.refresh();
    if (result === undefined) return undefined;
    if (!isFlat) {
      canon.expect(at, result.align, result.size);
      result.store(canon, value, at);
      return undefined;
    }
    const into: CoreValue[] = [];
    result.lower(canon, value, into);
    return into[0];
  };
}

/** All parameters as one tuple; without parameters there is nothing to read or write. */
function parametersOf({ parameters }: FunctionType): Abi {
  const abis = parameters.map(({ type }) => abiOf(type));
  if (abis.length === 0)
    return { ...tupleOf([primitive('u8')]), size: 0, flat: [], lift: () => [], lower: () => undefined };
  return tupleOf(abis);
}

function stored(canon: Canon, abi: Abi, value: Value): number {
  const at = canon.allocate(abi.align, abi.size);
  abi.store(canon, value, at);
  return at;
}

function loaded(canon: Canon, abi: Abi, at: number): Value {
  canon.expect(at, abi.align, abi.size);
  return abi.load(canon, at);
}
