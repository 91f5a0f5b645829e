// Goal: what excuses a process is what the disk has done, and a segment that is gone is one in the middle, until it is
// restored. Method: a disk with failed calls, and with logs of few segments.
import { describe, expect, it } from 'vitest';
import { fileError } from '../support/file-names.ts';
import { SimDisk } from './disk/sim-disk.ts';
import { Rng } from './engine/random.ts';

function diskWith(...paths: readonly string[]): SimDisk {
  const disk = new SimDisk(new Rng(1, 'disk'));
  for (const path of paths) disk.open(path, 'create');
  disk.syncDirectory('log');
  return disk;
}

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (failure) {
    return failure;
  }
}

const SEGMENTS = ['log/3.wal', 'log/1.wal', 'log/guard', 'log/2.wal'];

describe('SimDisk', () => {
  it('knows the errors of its own calls, and by which code they failed', () => {
    const disk = diskWith();
    disk.arm({ mishap: 'error', after: 0 });
    const failed = failureOf(() => disk.open('log/1.wal', 'create'));
    const missing = failureOf(() => disk.open('log/2.wal', 'existing'));
    disk.capacityBytes = 0;
    const full = failureOf(() => disk.open('log/1.wal', 'create').write(new Uint8Array(1), 0));
    const errors = [failed, missing, full, fileError('EIO', 'log/1.wal')];
    expect(errors.map((error) => disk.hasThrown(error, 'EIO'))).toEqual([true, false, false, false]);
    expect(errors.map((error) => disk.hasThrown(error, 'ENOSPC'))).toEqual([false, false, true, false]);
  });

  it('loses a segment in the middle for good, until it is restored', () => {
    const disk = diskWith(...SEGMENTS);
    expect(disk.loseSegment()).toBe('log/2.wal');
    disk.losePower(1);
    expect([disk.list('log').toSorted(), disk.damagedFiles]).toEqual([['1.wal', '3.wal', 'guard'], ['log/2.wal']]);
    disk.restore();
    disk.losePower(0);
    expect([disk.list('log').toSorted(), disk.isDamaged]).toEqual([['1.wal', '2.wal', '3.wal', 'guard'], false]);
  });

  it('loses none of two segments', () => {
    const disk = diskWith('log/1.wal', 'log/2.wal');
    expect([disk.loseSegment(), disk.isDamaged]).toEqual([undefined, false]);
  });
});
