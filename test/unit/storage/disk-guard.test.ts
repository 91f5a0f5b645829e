// Goal: the guard makes, keeps and releases its ballast on a disk that fills up, and says so in time (W15). Method: a
// disk in memory whose free space the test sets; what the ballast holds is taken off it.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DiskGuard, type DiskThresholds } from '#storage';
import { fileError } from '../../support/file-names.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MIB = 1024 * 1024;
const BALLAST = 'data/ballast';
const THRESHOLDS: DiskThresholds = { softBytes: 20 * MIB, hardBytes: 10 * MIB, ballastBytes: 5 * MIB };

/** A disk with `free` bytes, of which the ballast takes its share. */
class SmallDisk {
  readonly disk = new MemoryDisk();
  free = 100 * MIB;

  open(): DiskGuard {
    const probe = (): { availableBytes: number; capacityBytes: number } => ({
      availableBytes: this.free - this.ballastBytes,
      capacityBytes: 1000 * MIB,
    });
    return DiskGuard.open('data', { thresholds: THRESHOLDS, disk: this.disk, probe });
  }

  get ballastBytes(): number {
    return this.disk.list('data').includes('ballast') ? this.disk.file(BALLAST).length : 0;
  }
}

describe('the disk guard', () => {
  it('makes the ballast step by step, of bytes that nothing can compress', async () => {
    const small = new SmallDisk();
    const guard = await withBallast(small);
    expect(guard.level).toBe('open');
    expect(guard.report).toMatchObject({ ballastHeldBytes: 5 * MIB, availableBytes: 95 * MIB });
    expect(new Set(small.disk.file(BALLAST).subarray(0, 4096)).size).toBeGreaterThan(200);
  });

  it('says that a directory is not there any more, by its name', async () => {
    using directory = tempDir();
    const log = join(directory.path, 'log');
    mkdirSync(log);
    const probe = (): { availableBytes: number; capacityBytes: number } => ({
      availableBytes: 100 * MIB,
      capacityBytes: 1000 * MIB,
    });
    const disk = new MemoryDisk();
    const guard = DiskGuard.open('data', { thresholds: THRESHOLDS, disk, probe, directories: [log] });
    expect(guard.check().level).toBe('open');
    rmSync(log, { recursive: true });
    expect(() => guard.check()).toThrow(`${log} is not there any more (ENOENT`);
  });

  it('gives the ballast back at the hard level, and lets users write only when it has it again (W15)', async () => {
    const small = new SmallDisk();
    const guard = await withBallast(small);
    small.free = 14 * MIB;
    expect(guard.check()).toMatchObject({ level: 'refusing-writes', ballastHeldBytes: 0, availableBytes: 14 * MIB });
    expect(small.disk.list('data')).toEqual([]);
    small.free = 9 * MIB;
    expect(guard.check().level).toBe('read-only');
    small.free = 23 * MIB;
    expect(guard.check().level).toBe('refusing-writes');
    small.free = 60 * MIB;
    expect(guard.check().level).toBe('open');
    await settled();
    expect(small.ballastBytes).toBe(2 * MIB);
  });

  it('does without the ballast when the disk fills up while it is made', async () => {
    const small = new SmallDisk();
    const guard = small.open();
    small.disk.onStep = (step): void => {
      if (step.kind === 'write') throw fileError('ENOSPC', step.path);
    };
    await settled();
    expect(small.disk.list('data')).toEqual([]);
    expect(guard.check().ballastHeldBytes).toBe(0);
    await guard.close();
  });

  it('throws when the disk fails in any other way', async () => {
    const small = new SmallDisk();
    const guard = small.open();
    small.disk.onStep = (step): void => {
      if (step.kind === 'sync') throw fileError('EIO', step.path);
    };
    await settled();
    expect(() => guard.check()).toThrow(/data\/ballast could not be written/);
  });
});

async function withBallast(small: SmallDisk): Promise<DiskGuard> {
  const guard = small.open();
  for (let turn = 0; turn < 4; turn++) {
    await settled();
    guard.check();
  }
  expect(small.ballastBytes).toBe(THRESHOLDS.ballastBytes);
  return guard;
}

/** Lets the steps that are under way end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}
