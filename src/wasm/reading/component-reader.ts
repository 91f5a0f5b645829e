/**
 * Reads a component completely: every section, nested components, and core modules with their code.
 *
 * In a `Component` from here each name is safe (G1), nothing unknown was skipped (G2), no function or count exceeds its
 * limit (G4), and the engine considers each core module valid.
 */
import { quote } from '#base';
import { validityFault } from '../engine.ts';
import { CORE_MODULES_MAX, type ComponentLimits, NESTED_COMPONENTS_MAX } from '../limits.ts';
import { BinaryReader, type Span } from './binary-reader.ts';
import { walkBody } from './code-walk.ts';
import { Definitions, readAlias, readDescription, readExternName, readItem, setOnce } from './component-items.ts';
import { entry, Scope } from './component-scope.ts';
import { nest, TypeReader } from './component-type-reader.ts';
import {
  type CanonicalOptions,
  CORE_SORTS,
  type Component,
  type CoreReference,
  type Counts,
  type ImportedItem,
  type Item,
  type Named,
  type Offers,
  type Reference,
  type Step,
} from './component-types.ts';
import { type CoreModule, readCoreModule } from './core-module.ts';
import { unknown, unsupported } from './features.ts';
import { addCounts, countsOf, expectRoomForTables, instanceOf, NO_INSTANCES } from './instance-counts.ts';
import { Refused } from './refusal.ts';
import { readSections, type Section } from './sections.ts';

/** @throws Refused */
export function readComponent(bytes: Uint8Array, limits: ComponentLimits): Component {
  return read(bytes, limits, (section) => {
    const module = readCoreModule(bytes, section);
    for (const body of module.bodies) walkBody(bytes, body, () => undefined);
    // Checked first: an engine with such a limit would report the module as invalid.
    expectRoomForTables(module, limits, section.at);
    expectValid(bytes, section);
    return module;
  });
}

const SHOWN_LENGTH_MAX = 200;

/** @throws Refused InvalidComponent */
function expectValid(bytes: Uint8Array, { from, to }: Span): void {
  const fault = validityFault(bytes.subarray(from, to));
  if (fault === undefined) return;
  const message = `The core module at ${from} is not valid: ${quote(fault, SHOWN_LENGTH_MAX)}`;
  throw new Refused('InvalidComponent', from, message);
}

/** Reads a component that publishing has read before: its core modules are skipped. @throws Refused */
export function readKnownComponent(bytes: Uint8Array, limits: ComponentLimits): Component {
  return read(bytes, limits, (section) => ({ ...NOT_LOOKED_INTO, span: section }));
}

const NOT_LOOKED_INTO: Omit<CoreModule, 'span'> = {
  sections: [],
  bodies: [],
  memories: [],
  tables: [],
  typeCount: 0,
  functionCount: 0,
  globalCount: 0,
};

type ReadCoreModule = (section: Section) => CoreModule;

function read(bytes: Uint8Array, limits: ComponentLimits, readModule: ReadCoreModule): Component {
  return new Reading(bytes, limits, readModule).component({ from: 0, to: bytes.length }, new Scope());
}

class Reading {
  readonly #bytes: Uint8Array;
  readonly #limits: ComponentLimits;
  readonly #readModule: ReadCoreModule;
  readonly #definitions: Definitions = new Definitions();
  /** Parts in the binary, however often they are instantiated. */
  #coreModules = 0;
  #nestedComponents = 0;

  constructor(bytes: Uint8Array, limits: ComponentLimits, readModule: ReadCoreModule) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#readModule = readModule;
  }

  component(span: Span, scope: Scope): Component {
    const part = new Part(scope, this.#definitions, this.#limits);
    for (const section of readSections(this.#bytes, span, 'component')) {
      if (section.id === SECTION.coreModule) part.coreModule(this.#coreModule(section));
      else if (section.id === SECTION.component) part.component(this.#nested(section, scope));
      else part.section(section, new BinaryReader(this.#bytes, section));
    }
    return part.found();
  }

  #nested(section: Section, scope: Scope): Component {
    this.#expectFew(++this.#nestedComponents, NESTED_COMPONENTS_MAX, 'components inside', section);
    return this.component(section, nest(scope, section.at));
  }

  #coreModule(section: Section): CoreModule {
    this.#expectFew(++this.#coreModules, CORE_MODULES_MAX, 'core modules', section);
    return this.#readModule(section);
  }

  #expectFew(count: number, most: number, what: string, { at }: Section): void {
    if (count > most)
      throw new Refused('TooLarge', at, `The component has ${count} ${what} at least; the limit is ${most}`);
  }
}

const SECTION = {
  custom: 0,
  coreModule: 1,
  coreInstance: 2,
  coreType: 3,
  component: 4,
  instance: 5,
  alias: 6,
  type: 7,
  canonical: 8,
  start: 9,
  import: 10,
  export: 11,
  value: 12,
} as const;

const RESOURCE_FORMS = ['new resource', 'drop resource', 'resource rep'] as const;
const ENCODINGS = ['utf8', 'utf16', 'latin1+utf16'] as const;
const NO_OPTIONS: CanonicalOptions = { encoding: 'utf8', memory: undefined, realloc: undefined, postReturn: undefined };

/** One component on its own, section by section. */
class Part {
  readonly #scope: Scope;
  readonly #definitions: Definitions;
  readonly #limits: ComponentLimits;
  readonly #imports: Map<string, ImportedItem> = new Map();
  readonly #exports: Map<string, Item> = new Map();
  readonly #steps: Step[] = [];
  #counts: Counts = NO_INSTANCES;

  constructor(scope: Scope, definitions: Definitions, limits: ComponentLimits) {
    this.#scope = scope;
    this.#definitions = definitions;
    this.#limits = limits;
  }

  found(): Component {
    return { imports: this.#imports, exports: this.#exports, counts: this.#counts, steps: this.#steps };
  }

  coreModule(module: CoreModule): void {
    this.#scope.coreModules.push(module);
    this.#steps.push({ kind: 'core module', span: module.span });
  }

  component(component: Component): void {
    this.#scope.components.push(component);
    this.#steps.push({ kind: 'component', component });
  }

  section(section: Section, reader: BinaryReader): void {
    if (section.id === SECTION.custom) {
      reader.name();
      return;
    }
    const each = this.#readerOf(section, reader);
    for (const _ of this.#definitions.list(reader)) each();
    reader.expectEnd(`section ${section.id}`);
  }

  #readerOf({ id, at }: Section, reader: BinaryReader): () => void {
    const types = new TypeReader(reader, this.#definitions);
    switch (id) {
      case SECTION.coreInstance:
        return () => this.#coreInstance(reader);
      case SECTION.instance:
        return () => this.#scope.instances.push(this.#instance(reader));
      case SECTION.alias:
        return () => this.#alias(reader);
      case SECTION.type:
        return () => this.#type(types);
      case SECTION.canonical:
        return () => this.#canonical(reader);
      case SECTION.import:
        return () => this.#import(reader);
      case SECTION.export:
        return () => this.#export(reader);
      case SECTION.coreType:
        throw unsupported('core types outside of core modules', at);
      case SECTION.start:
      case SECTION.value:
        throw unsupported('values at the level of components', at);
      default:
        throw unknown('section', id, at);
    }
  }

  #all<Value>(reader: BinaryReader, each: () => Value): readonly Value[] {
    return Array.from(this.#definitions.list(reader), each);
  }

  #type(types: TypeReader): void {
    const type = types.type(this.#scope);
    this.#scope.types.push(type);
    if (type.kind === 'resource') this.#steps.push({ kind: 'resource', type, destructor: type.destructor });
  }

  #coreInstance(reader: BinaryReader): void {
    const at = reader.at;
    const form = reader.u8();
    if (form === 0x00) {
      const index = reader.u32();
      const module = entry(this.#scope.coreModules, index, 'core module', at);
      this.#counts = addCounts(this.#counts, countsOf(module), this.#limits, at);
      const given = this.#all(reader, () => readCoreArgument(reader));
      this.#steps.push({ kind: 'core instance', module: index, given });
    } else if (form === 0x01) {
      this.#steps.push({ kind: 'core exports', exports: this.#all(reader, () => readCoreExport(reader)) });
    } else {
      throw reader.unexpected(at, 'the kind of a core instance', '0 or 1');
    }
  }

  #instance(reader: BinaryReader): Offers {
    const at = reader.at;
    const form = reader.u8();
    if (form === 0x00) {
      const index = reader.u32();
      const component = entry(this.#scope.components, index, 'component', at);
      this.#counts = addCounts(this.#counts, instanceOf(component.counts), this.#limits, at);
      const given = this.#all(reader, () => ({ name: reader.name(), to: readItem(reader, this.#scope).to }));
      this.#steps.push({ kind: 'instance', component: index, given });
      return component.exports;
    }
    if (form !== 0x01) throw reader.unexpected(at, 'the kind of an instance', '0 or 1');
    const offers = new Map<string, Item>();
    const exports = this.#all(reader, (): Named<Reference> => {
      const name = readExternName(reader);
      const { item, to } = readItem(reader, this.#scope);
      setOnce(offers, name, item, reader.at);
      return { name, to };
    });
    this.#steps.push({ kind: 'exports', exports });
    return offers;
  }

  #alias(reader: BinaryReader): void {
    const { item, step } = readAlias(reader, this.#scope);
    this.#steps.push(step);
    if (item.sort === 'core module') this.#scope.coreModules.push(item.module);
    else this.#scope.add(item);
  }

  #canonical(reader: BinaryReader): void {
    const at = reader.at;
    const form = reader.u8();
    // Lifting and lowering have another byte, the sort: always a function so far.
    if (form <= 0x01 && reader.u8() !== 0x00) throw reader.unexpected(at + 1, 'the kind of a canonical function', '0');
    if (form === 0x00) {
      const core = reader.u32();
      const options = this.#canonicalOptions(reader);
      const type = entry(this.#scope.types, reader.u32(), 'type', at);
      if (type.kind !== 'function') throw reader.unexpected(at, `the type of a ${type.kind}`, 'that of a function');
      this.#scope.functions.push(type);
      this.#steps.push({ kind: 'lift', core, type, options });
    } else if (form === 0x01) {
      const index = reader.u32();
      const type = entry(this.#scope.functions, index, 'function', at);
      this.#steps.push({ kind: 'lower', function: index, type, options: this.#canonicalOptions(reader) });
    } else if (form <= 0x04) {
      const type = entry(this.#scope.types, reader.u32(), 'type', at);
      this.#steps.push({ kind: RESOURCE_FORMS[form - 0x02] ?? 'resource rep', type });
    } else {
      throw unsupported('asynchronous components', at);
    }
  }

  #canonicalOptions(reader: BinaryReader): CanonicalOptions {
    const found: { -readonly [Key in keyof CanonicalOptions]: CanonicalOptions[Key] } = { ...NO_OPTIONS };
    for (const _ of this.#definitions.list(reader)) {
      const at = reader.at;
      const option = reader.u8();
      // String encodings have no operand; memory, realloc and post-return have an index.
      if (option <= 0x02) found.encoding = ENCODINGS[option] ?? 'utf8';
      else if (option === 0x03) found.memory = reader.u32();
      else if (option === 0x04) found.realloc = reader.u32();
      else if (option === 0x05) found.postReturn = reader.u32();
      else throw unsupported('asynchronous components', at);
    }
    return found;
  }

  #import(reader: BinaryReader): void {
    const offset = reader.at;
    const name = readExternName(reader);
    const item = readDescription(reader, this.#scope);
    this.#scope.add(item);
    this.#steps.push({ kind: 'import', name, item });
    setOnce(this.#imports, name, { item, offset }, offset);
  }

  #export(reader: BinaryReader): void {
    const name = readExternName(reader);
    const { item, to } = readItem(reader, this.#scope);
    this.#steps.push({ kind: 'export', name, to });
    const at = reader.at;
    const form = reader.u8();
    if (form > 1) throw reader.unexpected(at, 'the flag of a described export', '0 or 1');
    const described = form === 1 ? readDescription(reader, this.#scope) : item;
    if (described.sort !== item.sort) throw reader.unexpected(at, `an export of the sort ${described.sort}`, item.sort);
    this.#scope.add(described);
    setOnce(this.#exports, name, described, at);
  }
}

function readCoreArgument(reader: BinaryReader): Named<number> {
  const name = reader.name();
  const at = reader.at;
  if (reader.u8() !== 0x12) throw reader.unexpected(at, 'the argument of a core module', '0x12, an instance');
  return { name, to: reader.u32() };
}

function readCoreExport(reader: BinaryReader): Named<CoreReference> {
  const name = reader.name();
  const at = reader.at;
  const sort = CORE_SORTS[reader.u8()];
  if (sort === undefined) throw reader.unexpected(at, 'the sort of a core item', '0 to 3');
  return { name, to: { sort, index: reader.u32() } };
}
