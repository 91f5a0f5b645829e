// Goal: the guard follows the free space of its file system and notices a missing directory (W15). Method: a probe
// whose free space the test sets.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DiskGuard, type DiskThresholds } from '#storage';
import { tempDir } from '../../support/temp-dir.ts';

const MIB = 1024 * 1024;
const CAPACITY_BYTES = 1000 * MIB;
const THRESHOLDS: DiskThresholds = { softBytes: 20 * MIB, hardBytes: 10 * MIB };

it('the disk guard reports the level of each check (W15)', () => {
  let free = 100;
  const probe = (): { availableBytes: number; capacityBytes: number } => ({
    availableBytes: free * MIB,
    capacityBytes: CAPACITY_BYTES,
  });
  const guard = new DiskGuard('data', { thresholds: THRESHOLDS, probe });
  const levels = [guard.level];
  for (free of [14, 9, 14, 60]) levels.push(guard.check().level);
  expect(levels).toEqual(['open', 'refusing-writes', 'read-only', 'refusing-writes', 'open']);
  expect(guard.report).toEqual({ level: 'open', availableBytes: 60 * MIB, capacityBytes: CAPACITY_BYTES });
});

it('the disk guard names a missing directory', () => {
  using directory = tempDir();
  const log = join(directory.path, 'log');
  mkdirSync(log);
  const probe = (): { availableBytes: number; capacityBytes: number } => ({
    availableBytes: 100 * MIB,
    capacityBytes: CAPACITY_BYTES,
  });
  const guard = new DiskGuard('data', { thresholds: THRESHOLDS, probe, directories: [log] });
  expect(guard.check().level).toBe('open');
  rmSync(log, { recursive: true });
  expect(() => guard.check()).toThrow(`${log} is not there any more (ENOENT`);
});
