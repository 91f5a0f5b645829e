// Goal: memory for reads is used again once it is released, and by one reader at a time. Method: random reads of
// several readers, each of which writes its own bytes; buffers counted.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ReadMemory } from '#kv';
import { runs } from '../../support/runs.ts';

interface Taken {
  readonly bytes: Uint8Array;
  readonly tag: number;
}

it('memory that one reader has taken is not changed by others', () => {
  const bytes = fc.oneof(fc.nat(200), fc.integer({ min: 4_000, max: 33_000 }), fc.constantFrom(32 * 1024, 100_000));
  const step = fc.record({ who: fc.nat(2), bytes, releases: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const memories = [0, 1, 2].map(() => ({ memory: new ReadMemory(), taken: new Array<Taken>() }));
      for (const [place, each] of steps.entries()) {
        const reader = memories[each.who];
        if (each.releases) reader?.memory.reset();
        if (each.releases) reader?.taken.splice(0);
        const tag = 1 + (place % 255);
        const read = reader?.memory.take(each.bytes).fill(tag) ?? new Uint8Array(0);
        expect(read).toHaveLength(each.bytes);
        reader?.taken.push({ bytes: read, tag });
      }
      for (const { bytes: read, tag } of memories.flatMap(({ taken }) => taken)) {
        expect(read.every((byte) => byte === tag)).toBe(true);
      }
    }),
    { numRuns: runs(200) },
  );
});

it.each([1_000, 20_000, 300_000])('readers one after the other use the same memory for %d bytes', (bytes) => {
  const buffers = new Set<ArrayBufferLike>();
  for (let slice = 0; slice < 20; slice++) {
    const memory = new ReadMemory();
    buffers.add(memory.take(bytes).buffer);
    memory.reset();
  }
  expect(buffers.size).toBe(1);
});

it.each([
  [300_000, 8],
  [900_000, 0],
])('readers that are released keep no memory of reads of %d bytes, except for %d spare ones', (bytes, kept) => {
  const memories = Array.from({ length: 100 }, () => new ReadMemory());
  const buffers = memories.map((memory) => memory.take(bytes).buffer);
  for (const memory of memories) memory.reset();
  expect(buffers.filter(({ byteLength }) => byteLength > 0)).toHaveLength(kept);
});
