// Goal: what a node may hold follows from the memory that it may use, and garbage is collected before that is reached.
import { expect, it } from 'vitest';
import { executorCount, lackingMemory, memoryShare, pressureCheck } from '../../../../src/main/process/memory-limit.ts';

const MIB = 2 ** 20;

it.each([
  ['requestMemoryBytes', 'auto', 320, 40],
  ['requestMemoryBytes', 'auto', 64, 16],
  ['requestMemoryBytes', 'auto', 4096, 128],
  ['unsentMemoryBytes', 'auto', 128, 32],
  ['replicationMemoryBytes', 'auto', 320, 40],
  ['replicationMemoryBytes', 'auto', 2048, 256],
  ['replicationMemoryBytes', 'auto', 512 * 1024, 1024],
  ['replicationMemoryBytes', 100 * MIB, 2048, 100],
  ['storeWriteBufferBytes', 'auto', 320, 10],
  ['storeWriteBufferBytes', 'auto', 1024, 32],
] as const)('%s of %s in %i MiB is %i MiB', (name, setting, memory, expected) => {
  expect(memoryShare(name, setting, memory * MIB)).toBe(expected * MIB);
});

it('as many processes run components as there are processors, and as there is memory for', () => {
  expect([64, 320, 512, 4096].map((memory) => executorCount(4, memory * MIB))).toEqual([1, 1, 2, 4]);
  expect([lackingMemory(319 * MIB), lackingMemory(320 * MIB)]).toEqual([{ neededBytes: 320 * MIB }, undefined]);
});

it('a thread collects near the limit of the process, and again when it has made more than a little since', () => {
  let [residentBytes, ownBytes, collected] = [200 * MIB, 100 * MIB, 0];
  const check = pressureCheck({
    limitBytes: 320 * MIB,
    residentBytes: () => residentBytes,
    ownBytes: () => ownBytes,
    collect: () => {
      collected += 1;
      ownBytes = 60 * MIB;
    },
  });
  check();
  expect(collected).toBe(0);
  residentBytes = 230 * MIB;
  check();
  expect(collected).toBe(1);
  ownBytes = 70 * MIB;
  check();
  expect(collected).toBe(1);
  ownBytes = 73 * MIB;
  check();
  expect(collected).toBe(2);
  // Memory that was released since counts as room.
  ownBytes = 30 * MIB;
  check();
  ownBytes = 43 * MIB;
  check();
  expect(collected).toBe(3);
});
