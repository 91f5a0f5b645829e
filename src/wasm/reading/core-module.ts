/**
 * Reads a core module completely: every section, every name, every entry (G1, G2).
 *
 * The result is the input of the cap and the meter: the offsets of sections and bodies, the numbers of functions, types
 * and globals, and the limits of memories and tables. The engine validates operand types and index bounds. A custom
 * section is read up to its name; its contents are ignored, and removed (strip.ts).
 */
import { ENTRIES_MAX, FUNCTIONS_MAX, TABLES_MAX } from '../limits.ts';
import { BinaryReader, type Span } from './binary-reader.ts';
import { readConstant } from './constant.ts';
import { type Limits, readFunctionType, readLimits, readReferenceType, readValueType } from './core-types.ts';
import { unknown, unsupported } from './features.ts';
import { Refused } from './refusal.ts';
import { readSections, type Section } from './sections.ts';

export const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13,
} as const;

const SHARED = 2;
const SHARED_MUTABLE = 3;

/** The required order of sections; custom sections may be anywhere. */
export const SECTION_ORDER: readonly number[] = [
  SECTION.type,
  SECTION.import,
  SECTION.function,
  SECTION.table,
  SECTION.memory,
  SECTION.global,
  SECTION.export,
  SECTION.start,
  SECTION.element,
  SECTION.dataCount,
  SECTION.code,
  SECTION.data,
];

export interface CoreModule {
  readonly span: Span;
  readonly sections: readonly Section[];
  readonly typeCount: number;
  /** Imports are included: they come first in the numbering. */
  readonly functionCount: number;
  readonly globalCount: number;
  /** Limits of the memories and tables that the module defines; imports are excluded. */
  readonly memories: readonly Limits[];
  readonly tables: readonly Limits[];
  readonly bodies: readonly Span[];
}

/** @throws Refused */
export function readCoreModule(bytes: Uint8Array, span: Span): CoreModule {
  const reading = new ModuleReading(bytes);
  const sections = [...readSections(bytes, span, 'module')];
  let place = -1;
  for (const section of sections) {
    if (section.id !== SECTION.custom) place = nextPlace(section, place);
    reading.section(section);
  }
  return { span, sections, ...reading.found() };
}

function nextPlace(section: Section, before: number): number {
  if (section.id === SECTION.tag) throw unsupported('exception handling', section.at);
  const place = SECTION_ORDER.indexOf(section.id);
  if (place === -1) throw unknown('section', section.id, section.at);
  if (place > before) return place;
  const message = `The section ${section.id} at ${section.at} comes after section ${SECTION_ORDER[before]}; it must come before it, once`;
  throw new Refused('InvalidComponent', section.at, message);
}

class ModuleReading {
  readonly #bytes: Uint8Array;
  readonly #memories: Limits[] = [];
  readonly #tables: Limits[] = [];
  readonly #bodies: Span[] = [];
  #typeCount = 0;
  #functionCount = 0;
  #globalCount = 0;
  #memoryCount = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  found(): Omit<CoreModule, 'span' | 'sections'> {
    return {
      typeCount: this.#typeCount,
      functionCount: this.#functionCount,
      globalCount: this.#globalCount,
      memories: this.#memories,
      tables: this.#tables,
      bodies: this.#bodies,
    };
  }

  section(section: Section): void {
    const reader = new BinaryReader(this.#bytes, section);
    if (section.id === SECTION.custom) {
      reader.name();
      return;
    }
    this.#contents(section.id, reader);
    reader.expectEnd(`section ${section.id}`);
  }

  #contents(id: number, reader: BinaryReader): void {
    switch (id) {
      case SECTION.start:
      case SECTION.dataCount:
        reader.u32();
        return;
      case SECTION.type:
        this.#typeCount = readCount(reader, 'types', ENTRIES_MAX);
        return repeat(this.#typeCount, () => readFunctionType(reader));
      case SECTION.import:
        return repeat(readCount(reader, 'imports', ENTRIES_MAX), () => this.#import(reader));
      case SECTION.function:
        return repeat(readCount(reader, 'functions', FUNCTIONS_MAX), () => this.#function(reader));
      case SECTION.table:
        return repeat(readCount(reader, 'tables', TABLES_MAX), () => this.#table(reader));
      case SECTION.memory:
        return repeat(reader.u32(), () => this.#memories.push(this.#memory(reader)));
      case SECTION.global:
        return repeat(readCount(reader, 'globals', ENTRIES_MAX), () => this.#global(reader));
      case SECTION.export:
        return repeat(readCount(reader, 'exports', ENTRIES_MAX), () => readExport(reader));
      case SECTION.element:
        return repeat(reader.u32(), () => readElements(reader));
      case SECTION.code:
        return repeat(readCount(reader, 'bodies of functions', FUNCTIONS_MAX), () =>
          this.#bodies.push(reader.span(reader.u32())),
        );
      default:
        return repeat(reader.u32(), () => readData(reader));
    }
  }

  #import(reader: BinaryReader): void {
    reader.name();
    reader.name();
    const at = reader.at;
    switch (reader.u8()) {
      case 0x00:
        return this.#function(reader);
      case 0x01:
        readReferenceType(reader);
        readLimits(reader);
        return;
      case 0x02:
        this.#memory(reader);
        return;
      case 0x03:
        return this.#globalType(reader);
      case 0x04:
        throw unsupported('exception handling', at);
      default:
        throw reader.unexpected(at, 'the kind of an import', '0 to 3');
    }
  }

  #function(reader: BinaryReader): void {
    this.#functionCount++;
    reader.u32();
  }

  #table(reader: BinaryReader): void {
    if (reader.peek() === 0x40) throw unsupported('tables with an initializer', reader.at);
    readReferenceType(reader);
    this.#tables.push(readLimits(reader));
  }

  #memory(reader: BinaryReader): Limits {
    if (this.#memoryCount++ > 0) throw unsupported('multi-memory', reader.at);
    return readLimits(reader);
  }

  #global(reader: BinaryReader): void {
    this.#globalType(reader);
    readConstant(reader);
  }

  #globalType(reader: BinaryReader): void {
    this.#globalCount++;
    readValueType(reader);
    const at = reader.at;
    const mutability = reader.u8();
    if (mutability === SHARED || mutability === SHARED_MUTABLE) throw unsupported('threads', at);
    if (mutability > 1) throw reader.unexpected(at, 'the mutability of a global', '0 or 1');
  }
}

/** Reads the number of entries of a section. */
function readCount(reader: BinaryReader, what: string, most: number): number {
  const at = reader.at;
  const count = reader.u32();
  if (count <= most) return count;
  throw new Refused('TooLarge', at, `A core module has ${count} ${what}; the limit is ${most}`);
}

function readExport(reader: BinaryReader): void {
  reader.name();
  const at = reader.at;
  const kind = reader.u8();
  if (kind === 0x04) throw unsupported('exception handling', at);
  if (kind > 0x04) throw reader.unexpected(at, 'the kind of an export', '0 to 3');
  reader.u32();
}

/**
 * Bits of the flags: 0 passive or declared; 1 names its table, or is declared; 2 has expressions instead of function
 * indices.
 */
function readElements(reader: BinaryReader): void {
  const at = reader.at;
  const flags = reader.u32();
  if (flags > 7) throw reader.unexpected(at, 'the kind of an element segment', '0 to 7');
  const isActive = (flags & 1) === 0;
  const hasExpressions = (flags & 4) !== 0;
  if (isActive && (flags & 2) !== 0) reader.u32();
  if (isActive) readConstant(reader);
  if ((flags & 3) !== 0) readElementKind(reader, hasExpressions);
  repeat(reader.u32(), () => (hasExpressions ? readConstant(reader) : reader.u32()));
}

function readElementKind(reader: BinaryReader, hasExpressions: boolean): void {
  if (hasExpressions) return readReferenceType(reader);
  const at = reader.at;
  if (reader.u8() !== 0) throw reader.unexpected(at, 'the kind of elements', '0, which is functions');
}

function readData(reader: BinaryReader): void {
  const at = reader.at;
  const flags = reader.u32();
  if (flags > 2) throw reader.unexpected(at, 'the kind of a data segment', '0 to 2');
  if (flags === 2 && reader.u32() !== 0) throw unsupported('multi-memory', at);
  if (flags !== 1) readConstant(reader);
  reader.skip(reader.u32());
}

function repeat(count: number, work: () => void): void {
  for (let left = count; left > 0; left--) work();
}
