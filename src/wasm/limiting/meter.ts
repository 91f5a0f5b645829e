/**
 * The meter: rewrites a core module so that it charges fuel, because V8 has none.
 *
 * It adds a mutable global as the counter, and functions that charge lengths, each after the module's own, so no index
 * changes. code-walk.ts finds where code is charged (G3). The counter is exported: the host sets it before a call and
 * reads it afterwards. Its initial value is small, since a start function runs before the host can set it. Custom
 * sections are removed: their offsets would be wrong.
 *
 *   G8  A metered module gives the results of the original module, as long as it has fuel.
 *   G9  The fuel that a call takes depends on the module, its state and the arguments alone, and no call runs without
 *       taking any: nothing that a guest runs, not even a start function or `cabi_realloc`, runs for ever.
 */
import { ByteWriter, encodeUtf8, type Result } from '#base';
import { BinaryReader, type Span } from '../reading/binary-reader.ts';
import { type Charge, walkBody } from '../reading/code-walk.ts';
import { type CoreModule, readCoreModule, SECTION, SECTION_ORDER } from '../reading/core-module.ts';
import { RESERVED_PREFIX } from '../reading/names.ts';
import { type Refusal, refusable } from '../reading/refusal.ts';
import type { Section } from '../reading/sections.ts';
import { chargeCode, LENGTH_TYPE, lengthBodies } from './fuel-code.ts';
import { ModuleWriter } from './module-writer.ts';

/** Export name of the counter in each metered module. */
export const FUEL_EXPORT: string = RESERVED_PREFIX;

/** Value until the host sets the counter: enough for some milliseconds. */
export const INITIAL_FUEL = 10_000_000;

const EXPORTED_GLOBAL = 0x03;

/** The same module, metered. */
export function meter(bytes: Uint8Array): Result<Uint8Array, Refusal> {
  return refusable(() => {
    const module = readCoreModule(bytes, { from: 0, to: bytes.length });
    const sections = new Map(module.sections.map((section) => [section.id, section]));
    const additions = additionsTo(module);
    const writer = new ModuleWriter(bytes, module.span);
    for (const id of SECTION_ORDER) {
      const section = sections.get(id);
      const added = additions.get(id);
      if (id === SECTION.code) writer.section(id, meteredCode(bytes, module));
      else if (added !== undefined) writer.section(id, extended(bytes, section, added));
      else if (section !== undefined) writer.copy({ from: section.at, to: section.to });
    }
    return writer.take();
  });
}

/** Entries to add at the end of each section. */
function additionsTo(module: CoreModule): ReadonlyMap<number, readonly Uint8Array[]> {
  const lengthType = written((writer) => writer.varint(module.typeCount));
  return new Map([
    [SECTION.type, [LENGTH_TYPE]],
    [SECTION.function, [lengthType, lengthType]],
    [SECTION.global, [counterGlobal()]],
    [SECTION.export, [counterExport(module.globalCount)]],
  ]);
}

function counterGlobal(): Uint8Array {
  return written((writer) => {
    writer.bytes(Uint8Array.of(0x7e, 1, 0x42));
    writeSigned(writer, INITIAL_FUEL);
    writer.u8(0x0b);
  });
}

function counterExport(counter: number): Uint8Array {
  const name = encodeUtf8(FUEL_EXPORT);
  return written((writer) => {
    writer.varint(name.length);
    writer.bytes(name);
    writer.u8(EXPORTED_GLOBAL);
    writer.varint(counter);
  });
}

/** A section with more entries at its end; a missing section had none. */
function extended(bytes: Uint8Array, section: Section | undefined, added: readonly Uint8Array[]): Uint8Array {
  return written((writer) => {
    const reader = section === undefined ? undefined : new BinaryReader(bytes, section);
    writer.varint((reader?.u32() ?? 0) + added.length);
    if (reader !== undefined) writer.slice(bytes, reader.at, reader.end);
    for (const entry of added) writer.bytes(entry);
  });
}

function meteredCode(bytes: Uint8Array, module: CoreModule): Uint8Array {
  const counter = module.globalCount;
  const codes = chargeCode({ counter, chargeBytes: module.functionCount });
  const writer = new ByteWriter(bytes.length);
  const helpers = lengthBodies(counter);
  writer.varint(module.bodies.length + helpers.length);
  for (const body of module.bodies) {
    const charges: Place[] = [];
    walkBody(bytes, body, (at, charge) => charges.push({ at, charge }));
    writeBody(writer, bytes, body, { charges, codes });
  }
  for (const helper of helpers) writer.bytes(helper);
  return writer.take();
}

interface Place {
  readonly at: number;
  readonly charge: Charge;
}

interface Charges {
  readonly charges: readonly Place[];
  readonly codes: Readonly<Record<Charge, Uint8Array>>;
}

function writeBody(writer: ByteWriter, bytes: Uint8Array, { from, to }: Span, { charges, codes }: Charges): void {
  const added = charges.reduce((sum, { charge }) => sum + codes[charge].length, 0);
  writer.varint(to - from + added);
  let done = from;
  for (const { at, charge } of charges) {
    writer.slice(bytes, done, at);
    writer.bytes(codes[charge]);
    done = at;
  }
  writer.slice(bytes, done, to);
}

/** Writes a non-negative number as signed LEB128. */
function writeSigned(writer: ByteWriter, value: number): void {
  let left = value;
  for (; left >= 0x40; left = Math.floor(left / 0x80)) writer.u8((left % 0x80) | 0x80);
  writer.u8(left);
}

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter();
  write(writer);
  return writer.take();
}
