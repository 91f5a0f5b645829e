// Goal: the spare segment contains only zeros and is complete when it is taken, at any moment of its preparation (W13).
// Method: spares taken before, during and after their preparation, on a disk in memory.
import { expect, it } from 'vitest';
import { SpareSegment } from '../../../src/storage/spare-segment.ts';
import { MemoryDisk, NOTHING_SURVIVES } from '../../support/memory-disk.ts';
import { settled } from '../../support/small-log.ts';

const MIB = 1024 * 1024;
const SEGMENT_BYTES = 4 * MIB;

it('the spare segment is prepared twice as fast as the log fills its segment', async () => {
  const disk = new MemoryDisk();
  const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
  for (const [used, size] of [
    [0, 0],
    [MIB / 4, MIB],
    [MIB, 2 * MIB],
    [2 * MIB, SEGMENT_BYTES],
    [3 * MIB, SEGMENT_BYTES],
  ] as const) {
    spare.pace(used);
    await settled();
    expect(sizes(disk).reduce((sum, each) => sum + each, 0)).toBe(size);
    expect(spare.isReady).toBe(size === SEGMENT_BYTES);
  }
});

it.each([
  ['was never begun', 0, 0],
  ['is half prepared', MIB, 0],
  ['has its first chunk on its way', 0, MIB],
  ['has its second chunk on its way', MIB / 4, MIB],
  ['is ready', SEGMENT_BYTES, 0],
])('the spare segment has only zeros and is complete when it %s (W13)', async (_state, before, now) => {
  const disk = new MemoryDisk();
  const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
  spare.pace(before);
  await settled();
  spare.pace(now);
  const file = spare.take();
  expect(file.size()).toBe(SEGMENT_BYTES);
  // A chunk that arrives late must not overwrite data that the log writes now.
  for (const at of [0, MIB]) file.write(new Uint8Array(1024).fill(9), at);
  file.sync();
  disk.syncDirectory('wal');
  await settled();
  const kept = disk.afterPowerLoss(NOTHING_SURVIVES).file(file.path);
  const wanted = new Uint8Array(SEGMENT_BYTES).fill(9, 0, 1024).fill(9, MIB, MIB + 1024);
  expect(Buffer.compare(kept, wanted)).toBe(0);
});

function sizes(disk: MemoryDisk): readonly number[] {
  return disk.list('wal').map((name) => disk.file(`wal/${name}`).length);
}
