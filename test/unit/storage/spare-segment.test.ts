// Goal: the spare segment is complete when it is taken, at any moment of its preparation; it contains only zeros, or is
// an earlier segment (W13). Method: spares taken before, during and after their preparation, on a disk in memory.
import { describe, expect, it } from 'vitest';
import { SpareSegment } from '../../../src/storage/spare-segment.ts';
import { MemoryDisk, NOTHING_SURVIVES } from '../../support/memory-disk.ts';
import { settled } from '../../support/small-log.ts';

const MIB = 1024 * 1024;
const SEGMENT_BYTES = 4 * MIB;
const [OLD, LATER, LAST] = ['wal/000000000001.wal', 'wal/000000000002.wal', 'wal/000000000003.wal'] as const;

it('the spare segment is prepared while the log fills the third quarter of its segment', async () => {
  const disk = new MemoryDisk();
  const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
  for (const [used, size] of [
    [0, 0],
    [2 * MIB, 0],
    [2.25 * MIB, MIB],
    [2.5 * MIB, 2 * MIB],
    [3 * MIB, SEGMENT_BYTES],
    [4 * MIB, SEGMENT_BYTES],
  ] as const) {
    spare.pace(used);
    await settled();
    expect(sizes(disk).reduce((sum, each) => sum + each, 0)).toBe(size);
    expect(spare.isReady).toBe(size === SEGMENT_BYTES);
  }
});

it.each([
  ['was never begun', 0, 0],
  ['is half prepared', 2.5 * MIB, 0],
  ['has its first chunk on its way', 0, 2.5 * MIB],
  ['has its second chunk on its way', 2.25 * MIB, 2.5 * MIB],
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

describe('segments that are not needed any more', () => {
  it.each([
    ['nothing is prepared', 0, 0],
    ['half of a spare is prepared', 2.5 * MIB, 0],
    ['a chunk of a spare is on its way', 0, 2.5 * MIB],
    ['there is a spare of zeros', SEGMENT_BYTES, 0],
  ])('are the next spare as they are, when %s', async (_state, before, now) => {
    const disk = withSegments(SEGMENT_BYTES);
    const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
    spare.pace(before);
    await settled();
    spare.pace(now);
    spare.recycle(OLD);
    expect(spare.isReady).toBe(true);
    const size = sizes(disk).reduce((sum, each) => sum + each, 0);
    const file = spare.take();
    expect(Buffer.compare(disk.file(file.path), new Uint8Array(SEGMENT_BYTES).fill(7))).toBe(0);
    expect(sizes(disk).reduce((sum, each) => sum + each, 0)).toBe(size);
  });

  it('are removed when there are two spares', async () => {
    const disk = withSegments(SEGMENT_BYTES);
    const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
    for (const path of [OLD, LATER, LAST]) spare.recycle(path);
    expect(sizes(disk)).toEqual([SEGMENT_BYTES, SEGMENT_BYTES]);
    expect(disk.list('wal').filter((name) => name.endsWith('.wal'))).toEqual([]);
    spare.pace(SEGMENT_BYTES);
    await settled();
    expect(sizes(disk)).toEqual([SEGMENT_BYTES, SEGMENT_BYTES]);
    await spare.close();
    expect(sizes(disk)).toEqual([]);
  });

  it('are removed when they have another size', () => {
    const disk = withSegments(SEGMENT_BYTES / 2);
    const spare = new SpareSegment(disk, 'wal', SEGMENT_BYTES);
    for (const path of [OLD, LATER, LAST]) spare.recycle(path);
    expect(sizes(disk)).toEqual([]);
    const file = spare.take();
    expect(Buffer.compare(disk.file(file.path), new Uint8Array(SEGMENT_BYTES))).toBe(0);
  });
});

function withSegments(size: number): MemoryDisk {
  const disk = new MemoryDisk();
  for (const path of [OLD, LATER, LAST]) {
    const file = disk.open(path, 'create');
    file.write(new Uint8Array(size).fill(7), 0);
    file.close();
  }
  return disk;
}

function sizes(disk: MemoryDisk): readonly number[] {
  return disk.list('wal').map((name) => disk.file(`wal/${name}`).length);
}
