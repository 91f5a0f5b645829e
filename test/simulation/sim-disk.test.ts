// Tests that SimDisk recognizes the errors of its own failed calls, which excuse the end of a process.
import { expect, it } from 'vitest';
import { fileError } from '../support/file-names.ts';
import { SimDisk } from './disk/sim-disk.ts';
import { Rng } from './engine/random.ts';

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (failure) {
    return failure;
  }
}

it('SimDisk recognizes the errors of its own calls, with their codes', () => {
  const disk = new SimDisk(new Rng(1, 'disk'));
  disk.arm({ mishap: 'error', after: 0 });
  const failed = failureOf(() => disk.open('log/1.wal', 'create'));
  const missing = failureOf(() => disk.open('log/2.wal', 'existing'));
  disk.capacityBytes = 0;
  const full = failureOf(() => disk.open('log/1.wal', 'create').write(new Uint8Array(1), 0));
  const errors = [failed, missing, full, fileError('EIO', 'log/1.wal')];
  expect(errors.map((error) => disk.hasThrown(error, 'EIO'))).toEqual([true, false, false, false]);
  expect(errors.map((error) => disk.hasThrown(error, 'ENOSPC'))).toEqual([false, false, true, false]);
});
