// Goal: segments have the bytes of docs/formats/segments.md whatever the appends were, and nothing is written after a
// failure. Method: a simulated disk.
import { describe, expect, it } from 'vitest';
import { crc32, type GroupId, toGroupId } from '#base';
import { type HistoryEnd, NO_HISTORY } from '#kv';
import { StorageFailure } from '#storage';
import { BLOCK_DATA_BYTES } from '../../../../src/storage/segments/segment-format.ts';
import { SegmentWriter } from '../../../../src/storage/segments/segment-writer.ts';
import { until } from '../../../support/eventually.ts';
import { bytesAt, recordsAt } from '../../../support/history-records.ts';
import { MemorySegmentDisk, type SegmentStep } from '../../../support/memory-segment-disk.ts';
import { HISTORIES, SegmentHistories } from '../../../support/segment-histories.ts';

const GROUP = toGroupId(7);
const OTHER = toGroupId(8);
const SEGMENT_BYTES = 9_000;

/** Appends records of 100 bytes, some at a time. */
async function appendAll(writer: SegmentWriter, group: GroupId, counts: readonly number[]): Promise<void> {
  let [position, segment]: [number, number | undefined] = [0, undefined];
  for (const count of counts) {
    const lengths = Array.from({ length: count }, () => 100);
    const records = recordsAt({ position, segment, lengths, segmentBytes: SEGMENT_BYTES });
    await writer.append(new Map([[group, records]]));
    segment = records.segments.at(-1)?.position ?? segment;
    position += records.bytes.length;
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code, syscall: 'write' });
}

describe('a writer of segments', () => {
  it('makes the same files from the same records, however they are appended', async () => {
    const files = new Set<string>();
    for (const counts of [[300], Array.from({ length: 300 }, () => 1), [40, 1, 50, 9, 200]]) {
      const disk = new MemorySegmentDisk();
      const writer = new SegmentWriter(HISTORIES, disk);
      await appendAll(writer, GROUP, counts);
      files.add(JSON.stringify(disk.files.map((path) => [path, Buffer.from(disk.file(path)).toString('base64')])));
      expect(disk.files).toHaveLength(4);
    }
    expect(files.size).toBe(1);
  });

  it('continues after the records of another process, and with more groups than open files', async () => {
    const disk = new MemorySegmentDisk();
    const groups = Array.from({ length: 100 }, (_, number) => toGroupId(number + 1));
    for (let turn = 0; turn < 3; turn++) {
      const writer = new SegmentWriter(HISTORIES, disk);
      for (const position of [turn * 6_000, turn * 6_000 + 3_000]) {
        const segment = position === 0 ? undefined : 0;
        const records = recordsAt({ position, segment, lengths: [3_000] });
        await writer.append(new Map(groups.map((group) => [group, records])));
        expect(disk.openCount).toBeLessThanOrEqual(64);
      }
      await writer.close();
      expect(disk.openCount).toBe(0);
    }
    const { history } = new SegmentHistories(disk);
    for (const group of groups) {
      const found = history.read(group, { from: 0, to: 18_000 });
      expect(Buffer.compare(found, bytesAt(0, 18_000))).toBe(0);
    }
  });

  it('closes the segment of another process when it begins the next one', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    await appendAll(writer, GROUP, [90]);
    await writer.close();
    const next = new SegmentWriter(HISTORIES, disk);
    const records = recordsAt({ position: 9_000, segment: 0, lengths: [100], segmentBytes: SEGMENT_BYTES });
    expect(records.segments).toMatchObject([{ position: 9_000 }]);
    await next.append(new Map([[GROUP, records]]));
    expect(disk.openCount).toBe(1);
    await next.close();
    expect(disk.openCount).toBe(0);
  });

  it('refuses to add to a history that ends elsewhere on the disk', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    await appendAll(writer, GROUP, [3]);
    const next = new SegmentWriter(HISTORIES, disk);
    const records = recordsAt({ position: 200, segment: 0, lengths: [100] });
    await expect(next.append(new Map([[GROUP, records]]))).rejects.toThrow('at the end of a history');
    const [path = ''] = disk.files;
    disk.file(path)[4_096] = 1;
    await expect(new SegmentWriter(HISTORIES, disk).append(new Map([[GROUP, records]]))).rejects.toThrow(
      /damaged at offset 4096/,
    );
  });

  it('writes nothing after a failed write', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    await appendAll(writer, GROUP, [3]);
    disk.onStep = ({ kind }) => {
      if (kind === 'write') throw failure('EIO');
    };
    const records = recordsAt({ position: 300, segment: 0, lengths: [100] });
    await expect(writer.append(new Map([[GROUP, records]]))).rejects.toThrow(StorageFailure);
    const steps: SegmentStep[] = [];
    disk.onStep = (step) => steps.push(step);
    await expect(writer.append(new Map([[OTHER, recordsAt({ position: 0, lengths: [1] })]]))).rejects.toThrow('EIO');
    await expect(writer.sync()).rejects.toThrow('EIO');
    await expect(writer.cut(GROUP, 100, NO_HISTORY)).rejects.toThrow('EIO');
    expect(steps).toEqual([]);
  });

  it('writes nothing to other histories either after a failed write', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    disk.onStep = ({ kind }) => {
      if (kind === 'write') throw failure('EIO');
    };
    const groups = Array.from({ length: 40 }, (_, number) => toGroupId(number + 1));
    const records = recordsAt({ position: 0, lengths: [10] });
    const appended = writer.append(new Map(groups.map((group) => [group, records])));
    await expect(appended).rejects.toThrow('EIO');
    expect(disk.files.length).toBeLessThan(8);
    const steps: SegmentStep[] = [];
    disk.onStep = (step) => steps.push(step);
    await new Promise(setImmediate);
    expect(steps).toEqual([]);
  });

  it('writes nothing after a failed sync, and says when the disk is full', async () => {
    for (const [code, kind] of [
      ['EIO', 'unwritten'],
      ['ENOSPC', 'full'],
    ] as const) {
      const disk = new MemorySegmentDisk();
      const writer = new SegmentWriter(HISTORIES, disk);
      await appendAll(writer, GROUP, [3]);
      disk.onStep = (step) => {
        if (step.kind === 'sync') throw failure(code);
      };
      await expect(writer.sync()).rejects.toMatchObject({ kind, path: disk.files[0] });
      disk.onStep = undefined;
      await expect(writer.sync()).rejects.toMatchObject({ kind });
      const records = recordsAt({ position: 300, segment: 0, lengths: [100] });
      await expect(writer.append(new Map([[GROUP, records]]))).rejects.toMatchObject({ kind });
    }
  });

  it('syncs what was written since the last sync, and reports how far that was', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    const synced: string[] = [];
    disk.onStep = ({ kind, path }) => {
      if (kind === 'sync' || kind === 'sync-directory') synced.push(path.slice(HISTORIES.length));
    };
    await appendAll(writer, GROUP, [3]);
    await writer.sync();
    const files = ['/00000007/0000000000000000.segment'];
    expect(synced.toSorted()).toEqual(['', '', '/00000007', ...files].toSorted());
    await writer.append(new Map([[GROUP, recordsAt({ position: 300, segment: 0, lengths: [100] })]]));
    synced.length = 0;
    await writer.sync();
    expect(synced).toEqual(files);
  });

  it('knows the end of each history, with the checksum of the data in its last block', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    const endAt = (end: number, from: number): HistoryEnd => ({ end, crc: crc32(bytesAt(from, end - from)) });
    expect(writer.end(GROUP)).toEqual(NO_HISTORY);
    await appendAll(writer, GROUP, [3, 100, 100]);
    const block = 18_000 + BLOCK_DATA_BYTES * Math.floor((20_300 - 18_000) / BLOCK_DATA_BYTES);
    expect(writer.end(GROUP)).toEqual(endAt(20_300, block));
    await writer.copy(GROUP, OTHER);
    expect(writer.end(OTHER)).toEqual(writer.end(GROUP));
    const next = new SegmentWriter(HISTORIES, disk);
    expect(await next.cut(GROUP, 20_000, NO_HISTORY)).toBe(20_000);
    expect(next.end(GROUP)).toEqual(endAt(20_000, block));
    await next.cut(GROUP, 0, NO_HISTORY);
    expect(next.end(GROUP)).toEqual(NO_HISTORY);
  });

  it('writes again after a start what a failed sync may have lost, so that the next sync covers it', async () => {
    const kept = new SegmentHistories();
    const append = async (position: number, lengths: readonly number[]): Promise<number> => {
      const segment = position === 0 ? undefined : 0;
      const records = recordsAt({ position, segment, lengths, segmentBytes: SEGMENT_BYTES });
      await kept.append(new Map([[GROUP, records]]));
      return position + records.bytes.length;
    };
    const synced = await append(0, [5_000]);
    await kept.sync();
    const end = await append(synced, [6_000, 3_000, 100]);
    kept.disk.onStep = ({ kind }) => {
      if (kind === 'sync') throw failure('EIO');
    };
    await expect(kept.sync()).rejects.toThrow('EIO');
    kept.disk.onStep = undefined;
    const next = kept.restarted();
    expect(await next.cut(GROUP, end)).toBe(end);
    await next.sync();
    const after = next.afterPowerLoss({ sector: () => false, name: () => false });
    expect(await after.cut(GROUP, end)).toBe(end);
    expect(Buffer.compare(after.history.read(GROUP, { from: 0, to: end }), bytesAt(0, end))).toBe(0);
  });

  it('cuts a history with bytes that the disk cannot read at the synced end, or after it', async () => {
    const disk = new MemorySegmentDisk();
    const first = new SegmentWriter(HISTORIES, disk);
    await first.append(new Map([[GROUP, recordsAt({ position: 0, lengths: [1_000] })]]));
    await first.sync();
    const synced = first.end(GROUP);
    await first.append(new Map([[GROUP, recordsAt({ position: 1_000, segment: 0, lengths: [20_000] })]]));
    await first.close();
    const cutAt = async (isLost: (read: number) => boolean): Promise<number> => {
      let reads = 0;
      disk.onRead = () => {
        if (isLost(reads++)) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'read' });
      };
      return new SegmentWriter(HISTORIES, disk).cut(GROUP, 21_000, synced);
    };
    // Synced bytes are lost: the history is left for a reader to report.
    expect(await cutAt(() => true)).toBeLessThan(1_000);
    // The last blocks are read one by one, then all blocks are to be written again.
    expect(await cutAt((read) => read === 4)).toBe(1_000);
    expect(await cutAt(() => false)).toBe(1_000);
  });

  it('removes the directory that a crash has left of a removed history', async () => {
    const before = new SegmentHistories();
    await before.histories.append(new Map([[GROUP, recordsAt({ position: 0, lengths: [10] })]]));
    before.disk.onStep = ({ kind, path }) => {
      if (kind === 'remove' && path === `${HISTORIES}/00000007`) throw failure('EIO');
    };
    await expect(before.cut(GROUP, 0)).rejects.toThrow('EIO');
    before.disk.onStep = undefined;
    expect(before.disk.list(HISTORIES)).toEqual(['00000007']);
    const { disk, histories } = before.restarted();
    await histories.cut(GROUP, 0);
    expect(disk.list(HISTORIES)).toEqual([]);
    await histories.cut(GROUP, 0);
  });

  it('removes the copy of a shared segment that a crash has left', async () => {
    const before = new SegmentHistories();
    await before.histories.append(
      new Map([[GROUP, recordsAt({ position: 0, lengths: [5_000, 5_000], segmentBytes: 1 })]]),
    );
    await before.histories.copy(GROUP, OTHER);
    before.disk.onStep = ({ kind }) => {
      if (kind === 'rename') throw failure('EIO');
    };
    await expect(before.cut(GROUP, 4_000)).rejects.toThrow('EIO');
    before.disk.onStep = undefined;
    const names = (): readonly string[] => before.disk.list(`${HISTORIES}/00000007`);
    expect(names()).toContainEqual(expect.stringMatching(/copy$/));
    const { histories } = before.restarted();
    await histories.cut(OTHER, 0);
    await histories.cut(GROUP, 4_000);
    expect(names()).toEqual(['0000000000000000.segment']);
  });

  it('cuts no history during another cut or a sync', async () => {
    const { disk, histories } = new SegmentHistories();
    const groups = [GROUP, OTHER];
    await histories.append(new Map(groups.map((group) => [group, recordsAt({ position: 0, lengths: [10] })])));
    const gate = Promise.withResolvers<void>();
    const calls: string[] = [];
    const stat = disk.stat.bind(disk);
    const syncDirectory = disk.syncDirectory.bind(disk);
    disk.stat = async (path) => {
      calls.push('cut');
      await gate.promise;
      return stat(path);
    };
    disk.syncDirectory = (path) => {
      calls.push('sync');
      return syncDirectory(path);
    };
    const cuts = groups.map((group) => histories.cut(group, 0));
    const synced = histories.sync();
    await until(() => calls.length === 1);
    await new Promise(setImmediate);
    expect(calls).toEqual(['cut']);
    gate.resolve();
    await Promise.all([...cuts, synced]);
    expect(disk.files).toEqual([]);
  });

  it('shares sealed segments of a copied history where the file system has links', async () => {
    for (const hasLinks of [true, false]) {
      const disk = new MemorySegmentDisk();
      const writer = new SegmentWriter(HISTORIES, disk);
      disk.hasLinks = hasLinks;
      await appendAll(writer, GROUP, [200]);
      await writer.copy(GROUP, OTHER);
      const links = await Promise.all(disk.files.map(async (path) => (await disk.stat(path)).nlink));
      expect(links).toEqual(hasLinks ? [2, 2, 1, 2, 2, 1] : [1, 1, 1, 1, 1, 1]);
      const { history } = new SegmentHistories(disk);
      expect(history.read(OTHER, { from: 0, to: 20_000 }).length).toBeGreaterThanOrEqual(20_000);
    }
  });
});
