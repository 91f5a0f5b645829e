// Goal: without a setting the memory of replication is an eighth of what the process may use, within bounds.
import { expect, it } from 'vitest';
import { replicationMemoryBytes } from '../../../src/main/replication-memory.ts';

const MIB = 2 ** 20;

it.each([
  ['auto', 256 * MIB, 64 * MIB],
  ['auto', 2048 * MIB, 256 * MIB],
  ['auto', 2048 * MIB + 7, 256 * MIB],
  ['auto', 512 * 1024 * MIB, 1024 * MIB],
  [100 * MIB, 2048 * MIB, 100 * MIB],
] as const)('%s of %i bytes is %i', (setting, memoryBytes, expected) => {
  expect(replicationMemoryBytes(setting, memoryBytes)).toBe(expected);
});
