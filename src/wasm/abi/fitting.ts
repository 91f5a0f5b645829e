/**
 * Converts host values to a guest's own types.
 *
 * The types of our worlds are fixed. The types of the EvidentSource SDK are not published; fields and cases are
 * matched by name. A guest of that shape defines its fields, their integer widths and the optional ones; the host
 * converts each value to that type before lowering.
 *
 *   G20 A guest receives the host's value of the same field or case name, or the call ends in AbiViolation. A value
 *       that the host lacks is none, empty or 0, and never the value of another field.
 */
import { NO_BYTES } from '#base';
import { abiViolation } from '../faults.ts';
import type { Case, Field, ValueType } from '../reading/component-types.ts';
import { isList, isRecord, record, tagged, type Value } from './values.ts';

const LARGE: ReadonlySet<string> = new Set(['u64', 's64']);
const FRACTIONS: ReadonlySet<string> = new Set(['f32', 'f64']);

/** @throws Faulted AbiViolation when the type has a field or wants a case that the host does not know. */
export function fitted(type: ValueType, value: Value): Value {
  switch (type.kind) {
    case 'primitive':
      return primitive(type.name, value);
    case 'option':
      if (type.of.kind === 'option')
        return value === undefined ? tagged('none') : tagged('some', fitted(type.of, value));
      return value === undefined ? undefined : fitted(type.of, value);
    case 'list':
      return list(type.of, value);
    case 'tuple':
      return isList(value) ? type.items.map((item, index) => fitted(item, value[index])) : value;
    case 'record':
      return fields(type.fields, value);
    case 'variant':
      return variant(type.cases, value);
    case 'result':
    case 'enum':
    case 'flags':
    case 'own':
    case 'borrow':
      return value;
  }
}

function primitive(name: string, value: Value): Value {
  if (value === undefined) return name === 'string' ? '' : name === 'bool' ? false : fitted(numeric(name), 0);
  if (FRACTIONS.has(name)) return typeof value === 'bigint' ? Number(value) : value;
  if (LARGE.has(name)) return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  return typeof value === 'bigint' ? Number(value) : value;
}

function numeric(name: string): ValueType {
  return { kind: 'primitive', name };
}

function list(of: ValueType, value: Value): Value {
  const areBytes = of.kind === 'primitive' && of.name === 'u8';
  if (value === undefined) return areBytes ? NO_BYTES : [];
  return isList(value) ? value.map((each) => fitted(of, each)) : value;
}

function fields(wanted: readonly Field[], value: Value): Value {
  if (!isRecord(value)) throw abiViolation(`The guest expects a record with ${named(wanted)}; the host has none`);
  return record(
    wanted.map(({ name, type }): [string, Value] => {
      if (!Object.hasOwn(value, name) && type.kind !== 'option') {
        throw abiViolation(`The guest expects a field ${name}; the host has ${Object.keys(value).join(', ')}`);
      }
      return [name, fitted(type, value[name])];
    }),
  );
}

function variant(cases: readonly Case[], value: Value): Value {
  const { tag, val } = isRecord(value) ? value : { tag: undefined, val: undefined };
  const found = cases.find(({ name }) => name === tag);
  if (found === undefined) {
    const had = typeof tag === 'string' ? tag : 'none';
    throw abiViolation(`The guest expects one of the cases ${named(cases)}; the host has ${had}`);
  }
  return tagged(found.name, found.type === undefined ? undefined : fitted(found.type, val));
}

function named(parts: readonly { readonly name: string }[]): string {
  return parts.map(({ name }) => name).join(', ');
}
