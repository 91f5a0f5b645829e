/** Reads the types that a component defines into their scope (G2). */
import { DEPTH_MAX } from '../limits.ts';
import type { BinaryReader } from './binary-reader.ts';
import { type Definitions, readAlias, readDescription, readExternName, setOnce } from './component-items.ts';
import { entry, Scope } from './component-scope.ts';
import type { Case, ComponentType, Field, FunctionType, Item, ValueType } from './component-types.ts';
import { unknown, unsupported } from './features.ts';
import { Refused } from './refusal.ts';

const PRIMITIVES: ReadonlyMap<number, string> = new Map([
  [0x7f, 'bool'],
  [0x7e, 's8'],
  [0x7d, 'u8'],
  [0x7c, 's16'],
  [0x7b, 'u16'],
  [0x7a, 's32'],
  [0x79, 'u32'],
  [0x78, 's64'],
  [0x77, 'u64'],
  [0x76, 'f32'],
  [0x75, 'f64'],
  [0x74, 'char'],
  [0x73, 'string'],
]);
/** Maximum number of labels of a flags type, as in the component model. */
const FLAGS_MAX = 32;
/** error-context, stream, future. */
const ASYNCHRONOUS: ReadonlySet<number> = new Set([0x64, 0x65, 0x66]);

/** @throws Refused when scopes are nested too deeply. */
export function nest(outer: Scope, offset: number): Scope {
  const scope = new Scope(outer);
  if (scope.depth <= DEPTH_MAX) return scope;
  const message = `Components and their types are ${scope.depth} deep at ${offset}; the limit is ${DEPTH_MAX}`;
  throw new Refused('TooLarge', offset, message);
}

export class TypeReader {
  readonly #reader: BinaryReader;
  readonly #definitions: Definitions;

  constructor(reader: BinaryReader, definitions: Definitions) {
    this.#reader = reader;
    this.#definitions = definitions;
  }

  /** Reads one type definition. */
  type(scope: Scope): ComponentType {
    const at = this.#reader.at;
    const form = this.#reader.u8();
    switch (form) {
      case 0x40:
        return this.#function(scope);
      case 0x41:
        this.#declarations(nest(scope, at), 'component');
        return { kind: 'component' };
      case 0x42:
        return { kind: 'instance', offers: this.#declarations(nest(scope, at), 'instance') };
      case 0x3f:
        return this.#resource();
      case 0x3e:
      case 0x43:
        throw unsupported('asynchronous components', at);
      default:
        return { kind: 'value', type: this.#defined(scope, form, at) };
    }
  }

  #function(scope: Scope): FunctionType {
    const parameters = this.#all(() => this.#field(scope));
    const at = this.#reader.at;
    const form = this.#reader.u8();
    if (form === 0x00) return { kind: 'function', parameters, result: this.#value(scope) };
    if (form === 0x01 && this.#reader.u8() === 0x00) return { kind: 'function', parameters, result: undefined };
    throw this.#reader.unexpected(at, 'the result of a function', '0 and a type, or 1 and 0');
  }

  #resource(): ComponentType {
    const at = this.#reader.at;
    if (this.#reader.u8() !== 0x7f) throw this.#reader.unexpected(at, 'the representation of a resource', '0x7f, i32');
    return { kind: 'resource', destructor: this.#optional() ? this.#reader.u32() : undefined };
  }

  #defined(scope: Scope, form: number, at: number): ValueType {
    const primitive = PRIMITIVES.get(form);
    if (primitive !== undefined) return { kind: 'primitive', name: primitive };
    switch (form) {
      case 0x72:
        return { kind: 'record', fields: this.#some(at, () => this.#field(scope)) };
      case 0x71:
        return { kind: 'variant', cases: this.#some(at, () => this.#case(scope)) };
      case 0x70:
        return { kind: 'list', of: this.#value(scope) };
      case 0x6f:
        return { kind: 'tuple', items: this.#some(at, () => this.#value(scope)) };
      case 0x6e:
        return {
          kind: 'flags',
          labels: fewFlags(
            this.#some(at, () => this.#reader.name()),
            at,
          ),
        };
      case 0x6d:
        return { kind: 'enum', labels: this.#some(at, () => this.#reader.name()) };
      case 0x6b:
        return { kind: 'option', of: this.#value(scope) };
      case 0x6a:
        return { kind: 'result', value: this.#maybe(scope), error: this.#maybe(scope) };
      case 0x69:
      case 0x68:
        entry(scope.types, this.#reader.u32(), 'type', at);
        return { kind: form === 0x69 ? 'own' : 'borrow' };
      default:
        throw ASYNCHRONOUS.has(form) ? unsupported('asynchronous components', at) : unknown('type', form, at);
    }
  }

  /** A primitive type in one byte, or the index of a type of values. */
  #value(scope: Scope): ValueType {
    const at = this.#reader.at;
    const byte = this.#reader.peek();
    const primitive = PRIMITIVES.get(byte);
    if (primitive !== undefined) {
      this.#reader.skip(1);
      return { kind: 'primitive', name: primitive };
    }
    if (ASYNCHRONOUS.has(byte)) throw unsupported('asynchronous components', at);
    const type = entry(scope.types, this.#reader.u32(), 'type', at);
    if (type.kind === 'value') return type.type;
    throw new Refused('InvalidComponent', at, `The type at ${at} is a ${type.kind} type; expected a value type`);
  }

  #field(scope: Scope): Field {
    return { name: this.#reader.name(), type: this.#value(scope) };
  }

  #case(scope: Scope): Case {
    const found = { name: this.#reader.name(), type: this.#maybe(scope) };
    const at = this.#reader.at;
    if (this.#reader.u8() !== 0x00) throw this.#reader.unexpected(at, 'the end of a case', '0');
    return found;
  }

  #maybe(scope: Scope): ValueType | undefined {
    return this.#optional() ? this.#value(scope) : undefined;
  }

  #optional(): boolean {
    const at = this.#reader.at;
    const byte = this.#reader.u8();
    if (byte > 1) throw this.#reader.unexpected(at, 'the flag of an optional part', '0 or 1');
    return byte === 1;
  }

  /** Reads the declarations of an instance type or a component type. */
  #declarations(scope: Scope, of: 'instance' | 'component'): ReadonlyMap<string, Item> {
    const offers = new Map<string, Item>();
    for (const _ of this.#definitions.list(this.#reader)) {
      const at = this.#reader.at;
      const form = this.#reader.u8();
      if (form === 0x00) throw unsupported('core types outside of core modules', at);
      else if (form === 0x01) scope.types.push(this.type(scope));
      else if (form === 0x02) scope.add(readAlias(this.#reader, scope).item);
      else if (form === 0x04 || (form === 0x03 && of === 'component'))
        this.#extern(scope, form === 0x04 ? offers : undefined);
      else throw this.#reader.unexpected(at, `a part of the type of a ${of}`, '1, 2 or 4, in a component also 3');
    }
    return offers;
  }

  #extern(scope: Scope, offers: Map<string, Item> | undefined): void {
    const at = this.#reader.at;
    const name = readExternName(this.#reader);
    const item = readDescription(this.#reader, scope);
    scope.add(item);
    if (offers !== undefined) setOnce(offers, name, item, at);
  }

  #all<Value>(read: () => Value): readonly Value[] {
    return Array.from(this.#definitions.list(this.#reader), read);
  }

  /** An empty value would take no memory, so a list of any length would fit: types must have parts. */
  #some<Part>(at: number, read: () => Part): readonly Part[] {
    const parts = this.#all(read);
    if (parts.length > 0) return parts;
    throw new Refused('InvalidComponent', at, `The type at ${at} is empty; it must have at least one part`);
  }
}

function fewFlags(labels: readonly string[], at: number): readonly string[] {
  if (labels.length <= FLAGS_MAX) return labels;
  throw new Refused('InvalidComponent', at, `The type at ${at} has ${labels.length} flags; the limit is ${FLAGS_MAX}`);
}
