/** Random WIT types, values of them in the forms of our host and of jco, and components that pass them through. */
import { componentEmbed, componentNew } from '@bytecodealliance/jco-transpile/wasm-tools';
import * as fc from 'fast-check';
import type { Value, ValueRecord } from '#wasm';
import { abiOf } from '../../../src/wasm/abi/abi-types.ts';
import type { ValueType } from '../../../src/wasm/reading/component-types.ts';
import { allocatorText, wat } from './wat.ts';

export type WitType =
  | { readonly kind: 'primitive'; readonly name: Primitive }
  | { readonly kind: 'list' | 'option'; readonly of: WitType }
  | { readonly kind: 'tuple' | 'record'; readonly parts: readonly WitType[] }
  | { readonly kind: 'variant' | 'result'; readonly cases: readonly (WitType | undefined)[] }
  | { readonly kind: 'enum' | 'flags'; readonly count: number };

type Primitive = 'bool' | `${'u' | 's'}${8 | 16 | 32 | 64}` | 'f32' | 'f64' | 'char' | 'string';

const PRIMITIVES: Readonly<Record<Primitive, fc.Arbitrary<Value>>> = {
  bool: fc.boolean(),
  u8: fc.integer({ min: 0, max: 0xff }),
  s8: fc.integer({ min: -0x80, max: 0x7f }),
  u16: fc.integer({ min: 0, max: 0xffff }),
  s16: fc.integer({ min: -0x8000, max: 0x7fff }),
  u32: fc.integer({ min: 0, max: 0xffff_ffff }),
  s32: fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }),
  u64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  s64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  f32: fc.float(),
  f64: fc.double(),
  char: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  // jco does not call the allocator for an empty string, so its pointer differs.
  string: fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
};

const primitive: fc.Arbitrary<WitType> = fc
  .constantFrom(...(Object.keys(PRIMITIVES) as Primitive[]))
  .map((name) => ({ kind: 'primitive', name }));

/** A random type of a few levels. */
export const witTypes: fc.Arbitrary<WitType> = fc.letrec<{ type: WitType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    primitive,
    fc.record({ kind: fc.constantFrom('list', 'option'), of: tie('type') }),
    fc.record({
      kind: fc.constantFrom('tuple', 'record'),
      parts: fc.array(tie('type'), { minLength: 1, maxLength: 6 }),
    }),
    fc.record({
      kind: fc.constant('variant'),
      cases: fc.array(fc.option(tie('type'), { nil: undefined }), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({
      kind: fc.constant('result'),
      cases: fc.array(fc.option(tie('type'), { nil: undefined }), { minLength: 2, maxLength: 2 }),
    }),
    fc.record({ kind: fc.constantFrom('enum', 'flags'), count: fc.constantFrom(1, 2, 8, 9, 17, 32) }),
  ) as fc.Arbitrary<WitType>,
})).type;

/** The type in the form of the component reader. */
function typeOf(type: WitType): ValueType {
  switch (type.kind) {
    case 'primitive':
      return { kind: 'primitive', name: type.name };
    case 'list':
    case 'option':
      return { kind: type.kind, of: typeOf(type.of) };
    case 'tuple':
      return { kind: 'tuple', items: type.parts.map((part) => typeOf(part)) };
    case 'record':
      return { kind: 'record', fields: type.parts.map((part, i) => ({ name: `f${i}`, type: typeOf(part) })) };
    case 'variant':
      return { kind: 'variant', cases: type.cases.map((each, i) => ({ name: `c${i}`, type: each && typeOf(each) })) };
    case 'result': {
      const [value, error] = type.cases.map((each) => each && typeOf(each));
      return { kind: 'result', value, error };
    }
    case 'enum':
    case 'flags':
      return { kind: type.kind, labels: Array.from({ length: type.count }, (_, i) => `l${i}`) };
  }
}

/** A random value of the type, in the form of our host. */
export function valuesOf(type: WitType): fc.Arbitrary<Value> {
  switch (type.kind) {
    case 'primitive':
      return PRIMITIVES[type.name];
    case 'list':
      if (isByte(type.of)) return fc.uint8Array({ maxLength: 20 });
      return fc.array(valuesOf(type.of), { maxLength: 4 });
    case 'option':
      if (type.of.kind === 'option')
        return fc.oneof(
          fc.constant(tagged('none')),
          valuesOf(type.of).map((val) => tagged('some', val)),
        );
      return fc.option(valuesOf(type.of), { nil: undefined });
    case 'tuple':
      return fc.tuple(...type.parts.map((part) => valuesOf(part)));
    case 'record':
      return fc
        .tuple(...type.parts.map((part) => valuesOf(part)))
        .map((values) => bare(values.map((value, i) => [`f${i}`, value])));
    case 'variant':
    case 'result':
      return fc.oneof(
        ...type.cases.map((each, i) =>
          (each === undefined ? fc.constant(undefined) : valuesOf(each)).map((val) =>
            tagged(caseName(type.kind, i), val),
          ),
        ),
      );
    case 'enum':
      return fc.nat(type.count - 1).map((i) => `l${i}`);
    case 'flags':
      return fc.subarray(Array.from({ length: type.count }, (_, i) => `l${i}`));
  }
}

/** The same value in the form of jco. */
export function forJco(type: WitType, value: Value): unknown {
  switch (type.kind) {
    case 'primitive':
    case 'enum':
      return value;
    case 'list':
      return isByte(type.of) ? value : (value as readonly Value[]).map((each) => forJco(type.of, each));
    case 'option':
      if (type.of.kind !== 'option') return value === undefined ? undefined : forJco(type.of, value);
      return casesForJco(['none', 'some'], [undefined, type.of], value as ValueRecord);
    case 'tuple':
      return type.parts.map((part, i) => forJco(part, (value as readonly Value[])[i]));
    case 'record':
      return Object.fromEntries(type.parts.map((part, i) => [`f${i}`, forJco(part, (value as ValueRecord)[`f${i}`])]));
    case 'variant':
    case 'result':
      return casesForJco(
        type.cases.map((_, i) => caseName(type.kind, i)),
        type.cases,
        value as ValueRecord,
      );
    case 'flags':
      return Object.fromEntries(
        Array.from({ length: type.count }, (_, i) => [`l${i}`, (value as readonly Value[]).includes(`l${i}`)]),
      );
  }
}

function casesForJco(
  names: readonly string[],
  types: readonly (WitType | undefined)[],
  { tag, val }: ValueRecord,
): unknown {
  const type = types[names.indexOf(typeof tag === 'string' ? tag : '')];
  return type === undefined ? { tag } : { tag, val: forJco(type, val) };
}

/**
 * A component that passes a value of the type to the host and returns the result, flat where the ABI allows it, and in
 * memory otherwise.
 */
export async function passing(type: WitType): Promise<Uint8Array> {
  const { text, declared } = witOf(type);
  const types = `interface types { ${declared.join(' ')} type t = ${text}; }`;
  const witSource = `package cairn:component@0.1.0; ${types}
    interface state-reader { use types.{t}; take: func(v: t) -> t; }
    world passing { use types.{t}; import state-reader; export pass: func(v: t) -> t; }`;
  const binary = await wat(coreText(abiOf(typeOf(type)).flat));
  return componentNew(await componentEmbed({ binary, witSource, world: 'passing' }), []);
}

function coreText(flat: readonly string[] | undefined): string {
  const given = flat ?? ['i32'];
  const isFlat = flat !== undefined && flat.length <= 1;
  const gets = given.map((_, i) => `(local.get ${i})`).join(' ');
  const answer = isFlat ? given.join(' ') : 'i32';
  const take = isFlat ? `(param ${given.join(' ')}) (result ${answer})` : `(param ${given.join(' ')} i32)`;
  const call = isFlat ? `(call $take ${gets})` : `(call $take ${gets} (i32.const 64)) (i32.const 64)`;
  return `(module
    (import "cairn:component/state-reader@0.1.0" "take" (func $take ${take}))
    (memory (export "memory") 4)
    ${allocatorText(65536)}
    (func (export "pass") (param ${given.join(' ')}) (result ${answer}) ${call}))`;
}

interface Written {
  readonly text: string;
  readonly declared: readonly string[];
}

function witOf(type: WitType, names: { next: number } = { next: 0 }): Written {
  const declared: string[] = [];
  const inner = (part: WitType): string => {
    const written = witOf(part, names);
    declared.push(...written.declared);
    return written.text;
  };
  const named = (kind: string, body: string): string => {
    const name = `n${names.next++}`;
    declared.push(`${kind} ${name} { ${body} }`);
    return name;
  };
  const labels = (count: number): string => Array.from({ length: count }, (_, i) => `l${i}`).join(', ');
  const text = ((): string => {
    switch (type.kind) {
      case 'primitive':
        return type.name;
      case 'list':
      case 'option':
        return `${type.kind}<${inner(type.of)}>`;
      case 'tuple':
        return `tuple<${type.parts.map((part) => inner(part)).join(', ')}>`;
      case 'record':
        return named('record', type.parts.map((part, i) => `f${i}: ${inner(part)}`).join(', '));
      case 'variant':
        return named(
          'variant',
          type.cases.map((each, i) => `c${i}${each === undefined ? '' : `(${inner(each)})`}`).join(', '),
        );
      case 'result': {
        const [value, error] = type.cases.map((each) => (each === undefined ? '_' : inner(each)));
        return error === '_' ? (value === '_' ? 'result' : `result<${value}>`) : `result<${value}, ${error}>`;
      }
      case 'enum':
      case 'flags':
        return named(type.kind, labels(type.count));
    }
  })();
  return { text, declared };
}

function isByte(type: WitType): boolean {
  return type.kind === 'primitive' && type.name === 'u8';
}

function caseName(kind: 'variant' | 'result', index: number): string {
  return kind === 'variant' ? `c${index}` : (['ok', 'err'][index] ?? '');
}

function tagged(tag: string, val?: Value): Value {
  return bare([
    ['tag', tag],
    ['val', val],
  ]);
}

function bare(entries: readonly (readonly [string, Value])[]): ValueRecord {
  return Object.assign(Object.create(null) as Record<string, Value>, Object.fromEntries(entries));
}
