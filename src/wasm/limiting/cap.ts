/**
 * The cap: gives every memory and every table of a core module a maximum, which inspect.ts computes from the limits.
 *
 * Without one, a loop of `memory.grow` takes all memory of the machine, and a loop of `table.grow` ends the process,
 * whatever the limits of the thread. Growing beyond the maximum returns -1, as when memory is exhausted. Imports are
 * not rewritten: they belong to another module of the same component, which is capped itself.
 *
 *   G7  After the cap no memory or table that a module defines can grow beyond its share.
 */
import { ByteWriter, type Result } from '#base';
import { BinaryReader } from '../reading/binary-reader.ts';
import { readCoreModule, SECTION } from '../reading/core-module.ts';
import { type Limits, readLimits } from '../reading/core-types.ts';
import type { Growth } from '../reading/inspect.ts';
import { type Refusal, refusable } from '../reading/refusal.ts';
import type { Section } from '../reading/sections.ts';
import { ModuleWriter } from './module-writer.ts';

const HAS_MAXIMUM = 0x01;

/** The same module with maxima. */
export function cap(bytes: Uint8Array, growth: Growth): Result<Uint8Array, Refusal> {
  return refusable(() => {
    const { sections, span } = readCoreModule(bytes, { from: 0, to: bytes.length });
    const writer = new ModuleWriter(bytes, span);
    for (const section of sections) {
      if (section.id === SECTION.memory) writer.section(section.id, memories(bytes, section, growth.memoryPages));
      else if (section.id === SECTION.table) writer.section(section.id, tables(bytes, section, growth.tableElements));
      else writer.copy({ from: section.at, to: section.to });
    }
    return writer.take();
  });
}

function memories(bytes: Uint8Array, section: Section, growth: number): Uint8Array {
  const reader = new BinaryReader(bytes, section);
  const writer = new ByteWriter();
  writer.varint(reader.u32());
  while (!reader.isAtEnd) writeLimits(writer, readLimits(reader), growth);
  return writer.take();
}

function tables(bytes: Uint8Array, section: Section, growth: number): Uint8Array {
  const reader = new BinaryReader(bytes, section);
  const writer = new ByteWriter();
  writer.varint(reader.u32());
  while (!reader.isAtEnd) {
    writer.u8(reader.u8());
    writeLimits(writer, readLimits(reader), growth);
  }
  return writer.take();
}

function writeLimits(writer: ByteWriter, { minimum, maximum }: Limits, growth: number): void {
  writer.u8(HAS_MAXIMUM);
  writer.varint(minimum);
  writer.varint(Math.min(maximum ?? Number.POSITIVE_INFINITY, minimum + growth));
}
