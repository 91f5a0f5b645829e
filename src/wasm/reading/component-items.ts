/** Parts common to types and components: names with a prefix, indices with a sort, aliases, descriptions. */
import { DEFINITIONS_MAX } from '../limits.ts';
import type { BinaryReader } from './binary-reader.ts';
import { entry, type Scope, scopeAt } from './component-scope.ts';
import { CORE_SORTS, type Item, type Reference, type Step } from './component-types.ts';
import { unsupported } from './features.ts';
import { Refused } from './refusal.ts';

/** Counts the definitions of one component, nested ones included. */
export class Definitions {
  #count = 0;

  /** Iterates over the entries of a list; they are read one by one, so a false count ends with the bytes. */
  *list(reader: BinaryReader): Generator<number> {
    for (let left = reader.u32(); left > 0; left--) {
      this.#count++;
      if (this.#count > DEFINITIONS_MAX) {
        const message = `The component has more than ${DEFINITIONS_MAX} definitions, the limit`;
        throw new Refused('TooLarge', reader.at, message);
      }
      yield left;
    }
  }
}

/** Reads the name of an import or export. */
export function readExternName(reader: BinaryReader): string {
  const at = reader.at;
  const form = reader.u8();
  // 1 once marked names of interfaces; both forms are read alike now.
  if (form === 0x02) throw unsupported('names with a version beside them', at);
  if (form > 0x02) throw reader.unexpected(at, 'the form of a name', '0 or 1');
  return reader.name();
}

/** Sets a name once: with duplicates, readers could see different values. @throws Refused */
export function setOnce<Value>(named: Map<string, Value>, name: string, value: Value, offset: number): void {
  if (named.has(name)) {
    throw new Refused('InvalidComponent', offset, `The name "${name}" is given twice where each may be given once`);
  }
  named.set(name, value);
}

/** Reads a sort and an index, and returns the item with its reference. */
export function readItem(reader: BinaryReader, scope: Scope): { readonly item: Item; readonly to: Reference } {
  const at = reader.at;
  const sort = readSort(reader);
  const index = reader.u32();
  const item = itemAt(scope, sort, index, at);
  return { item, to: { sort: item.sort, index } };
}

/** Sorts as encoded; the sorts of core items follow a zero byte, here encoded as 0x100 added. */
const SORT = {
  function: 0x01,
  value: 0x02,
  type: 0x03,
  component: 0x04,
  instance: 0x05,
  coreType: 0x110,
  coreModule: 0x111,
} as const;
const CORE = 0x100;

function readSort(reader: BinaryReader): number {
  const sort = reader.u8();
  return sort === 0 ? CORE + reader.u8() : sort;
}

function itemAt(scope: Scope, sort: number, index: number, at: number): Item {
  switch (sort) {
    case SORT.function:
      return { sort: 'function', type: entry(scope.functions, index, 'function', at) };
    case SORT.type:
      return { sort: 'type', type: entry(scope.types, index, 'type', at) };
    case SORT.component:
      return { sort: 'component', component: entry(scope.components, index, 'component', at) };
    case SORT.instance:
      return { sort: 'instance', offers: entry(scope.instances, index, 'instance', at) };
    case SORT.coreModule:
      return { sort: 'core module', module: entry(scope.coreModules, index, 'core module', at) };
    case SORT.value:
      throw unsupported('values at the level of components', at);
    case SORT.coreType:
      throw unsupported('core types outside of core modules', at);
    default:
      throw new Refused('InvalidComponent', at, `The sort ${sort} at ${at} is not valid; use 0 to 5`);
  }
}

/** Reads an alias: the item, and the step that resolves it. */
export function readAlias(reader: BinaryReader, scope: Scope): { readonly item: Item; readonly step: Step } {
  const at = reader.at;
  const sort = readSort(reader);
  const targetAt = reader.at;
  switch (reader.u8()) {
    case 0x00:
      return readInstanceExport(reader, scope, sort);
    case 0x01: {
      const [instance, name] = [reader.u32(), reader.name()];
      const coreSort = CORE_SORTS[sort - CORE];
      if (coreSort === undefined) throw reader.unexpected(at, 'the sort of an alias', 'one of core items');
      return { item: { sort: 'core item' }, step: { kind: 'core alias', sort: coreSort, instance, name } };
    }
    case 0x02: {
      const level = reader.u32();
      const outer = scopeAt(scope, level, at);
      const index = reader.u32();
      const item = itemAt(outer, sort, index, at);
      return { item, step: { kind: 'outer alias', level, to: { sort: item.sort, index } } };
    }
    default:
      throw reader.unexpected(targetAt, 'the target of an alias', '0 to 2');
  }
}

function readInstanceExport(reader: BinaryReader, scope: Scope, sort: number): ReturnType<typeof readAlias> {
  const at = reader.at;
  const instance = reader.u32();
  const offers = entry(scope.instances, instance, 'instance', at);
  const name = reader.name();
  const item = offers.get(name);
  if (item !== undefined && sort < CORE) return { item, step: { kind: 'alias', sort: item.sort, instance, name } };
  const message = `An alias names the export "${name}", which its instance does not have`;
  throw new Refused('InvalidComponent', at, message);
}

/** Reads the type of an import, or of an export in a type. */
export function readDescription(reader: BinaryReader, scope: Scope): Item {
  const at = reader.at;
  switch (reader.u8()) {
    case 0x00:
      throw unsupported('core modules from elsewhere', at);
    case 0x01: {
      const type = entry(scope.types, reader.u32(), 'type', at);
      if (type.kind !== 'function') throw mismatch(at, 'function', type.kind);
      return { sort: 'function', type };
    }
    case 0x02:
      throw unsupported('values at the level of components', at);
    case 0x03:
      return { sort: 'type', type: readTypeBound(reader, scope) };
    case 0x04:
      throw unsupported('components from elsewhere', at);
    case 0x05: {
      const type = entry(scope.types, reader.u32(), 'type', at);
      if (type.kind !== 'instance') throw mismatch(at, 'instance', type.kind);
      return { sort: 'instance', offers: type.offers };
    }
    default:
      throw reader.unexpected(at, 'the kind of an import or export', '0 to 5');
  }
}

function readTypeBound(reader: BinaryReader, scope: Scope): Extract<Item, { sort: 'type' }>['type'] {
  const at = reader.at;
  const bound = reader.u8();
  if (bound === 0x00) return entry(scope.types, reader.u32(), 'type', at);
  if (bound === 0x01) return { kind: 'resource', destructor: undefined };
  throw reader.unexpected(at, 'the bound of a type', '0 or 1');
}

function mismatch(at: number, expected: string, found: string): Refused {
  return new Refused('InvalidComponent', at, `The type at ${at} is a ${found} type; expected a ${expected} type`);
}
