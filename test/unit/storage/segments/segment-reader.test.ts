// Goal: a reader of segments returns the bytes that were written or reports damage, keeps few descriptors open, and
// leaves the thread where the disk is slow. Method: every byte and every cut of a small segment; a simulated disk.
import { describe, expect, it } from 'vitest';
import { DatabaseError, toGroupId } from '#base';
import { HistoryFault, ReadMemory } from '#kv';
import type { ReadClock } from '../../../../src/storage/segments/read-times.ts';
import { SegmentReader } from '../../../../src/storage/segments/segment-reader.ts';
import { SegmentWriter } from '../../../../src/storage/segments/segment-writer.ts';
import { bytesAt, recordsAt, startAt } from '../../../support/history-records.ts';
import { MemorySegmentDisk } from '../../../support/memory-segment-disk.ts';
import { HISTORIES, NO_PAUSES, SegmentHistories, STILL } from '../../../support/segment-histories.ts';

const GROUP = toGroupId(7);
const FILE = `${HISTORIES}/00000007/0000000000000000.segment`;

async function withRecords(lengths: readonly number[], segmentBytes = 1e9): Promise<SegmentHistories> {
  const histories = new SegmentHistories();
  await histories.histories.append(new Map([[GROUP, recordsAt({ position: 0, lengths, segmentBytes })]]));
  return histories;
}

/** Each read on the thread takes 2 ms, in which the process reads from a disk. */
function coldClock(): ReadClock {
  let [times, reads] = [0, 0];
  return { nowMs: () => 2 * (times++ % 2), diskReads: () => ++reads };
}

function readWith(disk: MemorySegmentDisk, from: number, to: number): Uint8Array {
  return new SegmentReader(HISTORIES, { disk, clock: STILL, pauses: NO_PAUSES }).read(GROUP, { from, to });
}

describe('damage of a segment', () => {
  it('is noticed for every byte of it', async () => {
    const { disk } = await withRecords([50]);
    const bytes = disk.file(FILE);
    expect(bytes).toHaveLength(2 * 4_096);
    for (let at = 0; at < bytes.length; at++) {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
      expect(() => readWith(disk, 0, 50), `byte ${at}`).toThrow(HistoryFault);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
    }
    expect(readWith(disk, 0, 50)).toEqual(bytesAt(0, 50));
  });

  it('is noticed for every length that it is cut to', async () => {
    const { disk } = await withRecords([50]);
    for (let size = 2 * 4_096 - 1; size >= 0; size--) {
      disk.resize(FILE, size);
      expect(() => readWith(disk, 0, 50), `cut to ${size}`).toThrow(HistoryFault);
    }
  });

  it.each([
    ['EIO', 'HistoryDamaged'],
    ['EUCLEAN', 'HistoryDamaged'],
    ['EACCES', undefined],
  ])('is what a disk reports that fails a read with %s, unless it is for another reason', async (code, reason) => {
    const { disk } = await withRecords([50]);
    disk.onRead = () => {
      throw Object.assign(new Error(`${code}: a reason`), { code, syscall: 'read' });
    };
    const reader = new SegmentReader(HISTORIES, { disk, clock: coldClock(), pauses: NO_PAUSES });
    const range = { from: 0, to: 50 };
    for (const _ of ['on the thread', 'off it']) {
      const failure: unknown = await (async () => reader.readAll(GROUP, [range]))().catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ message: expect.stringContaining(code) });
      expect(failure instanceof DatabaseError && failure.details.reason).toBe(reason);
    }
  });

  it('is noticed when a segment is missing, or has the name of another', async () => {
    const { disk } = await withRecords([5_000, 5_000, 5_000], 1);
    const [first = '', second = '', third = ''] = disk.files;
    expect(readWith(disk, 0, 15_000)).toEqual(bytesAt(0, 15_000));
    await disk.rename(second, `${HISTORIES}/aside`);
    expect(() => readWith(disk, 0, 15_000)).toThrow('ends before block 3');
    await disk.rename(third, second);
    expect(() => readWith(disk, 0, 6_000)).toThrow('has position 10000');
    await disk.remove(first);
    expect(() => readWith(disk, 0, 1)).toThrow('it has no segment with position 0');
  });
});

describe('a reader of segments', () => {
  it('sees a segment that was begun, and a history that was begun again, after it had read the group', async () => {
    const { disk, histories, history } = await withRecords([5_000]);
    history.read(GROUP, { from: 0, to: 5_000 });
    await histories.append(
      new Map([[GROUP, recordsAt({ position: 5_000, segment: 0, lengths: [100], segmentBytes: 1 })]]),
    );
    expect(history.read(GROUP, { from: 4_990, to: 5_100 })).toEqual(bytesAt(4_990, 110));
    expect(disk.files).toHaveLength(2);
  });

  it('shares full blocks between small reads with the same owner (D18)', async () => {
    const { disk, histories, history } = await withRecords([5_000]);
    const range = { from: 100, to: 200 };
    let reads = 0;
    disk.onRead = () => {
      reads += 1;
    };
    const memory = new ReadMemory({});
    for (let again = 0; again < 3; again++) expect(history.readAll(GROUP, [range, range], memory)).toHaveLength(2);
    // The header, and the block.
    expect(reads).toBe(2);
    await histories.cut(GROUP, 0);
    const bytes = new Uint8Array(5_000).fill(1);
    await histories.append(new Map([[GROUP, { position: 0, bytes, segments: [startAt(0)] }]]));
    const [found] = await history.readAll(GROUP, [range], new ReadMemory({}));
    expect(found?.subarray(0, 100)).toEqual(bytes.subarray(100, 200));
  });

  it('shares the two blocks of a read that ends in the next block (D18)', async () => {
    const { disk, history } = await withRecords([10_000]);
    let reads = 0;
    disk.onRead = () => {
      reads += 1;
    };
    const memory = new ReadMemory({});
    const ranges = [4_000, 100, 4_200, 4_000].map((from) => ({ from, to: from + 200 }));
    const found = ranges.map((range) => history.read(GROUP, range, memory).slice(0, 200));
    expect(found).toEqual(ranges.map(({ from }) => bytesAt(from, 200)));
    // The header, and the first range.
    expect(reads).toBe(2);
  });

  it('reads a block again that it has found torn', async () => {
    const { disk } = await withRecords([100]);
    const bytes = disk.file(FILE);
    let reads = 0;
    disk.onRead = () => {
      // The header is read before each try.
      reads += 1;
      if (reads === 1 || reads === 5) bytes[4_096] = (bytes[4_096] ?? 0) ^ 1;
    };
    expect(readWith(disk, 0, 100)).toEqual(bytesAt(0, 100));
    expect(reads).toBe(6);
  });

  it('returns bytes behind the range only as far as they are records', async () => {
    const { history } = await withRecords([4_090, 50]);
    expect(history.read(GROUP, { from: 10, to: 20 })).toEqual(bytesAt(10, 4_080));
    expect(history.read(GROUP, { from: 4_100, to: 4_101 })).toEqual(bytesAt(4_100, 40));
  });

  it('keeps 64 files open at most, also while it reads off the thread', async () => {
    const disk = new MemorySegmentDisk();
    const writer = new SegmentWriter(HISTORIES, disk);
    const groups = Array.from({ length: 200 }, (_, number) => toGroupId(number + 1));
    await writer.append(new Map(groups.map((group) => [group, recordsAt({ position: 0, lengths: [100] })])));
    await writer.close();
    const reader = new SegmentReader(HISTORIES, { disk, clock: coldClock(), pauses: NO_PAUSES });
    for (const group of groups) reader.read(group, { from: 0, to: 100 });
    expect(disk.openCount).toBe(64);
    let most = 0;
    disk.onRead = () => {
      most = Math.max(most, disk.openCount);
    };
    const found = await Promise.all(groups.map(async (group) => reader.readAll(group, [{ from: 0, to: 100 }])));
    expect(found.flat()).toHaveLength(200);
    // Sixteen are read at a time.
    expect(most).toBeLessThanOrEqual(64 + 16);
    expect(disk.openCount).toBe(64);
    reader.close();
    expect(disk.openCount).toBe(0);
  });

  it('reads off the thread what probably is not in the page cache', async () => {
    const { disk } = await withRecords([100]);
    const reader = new SegmentReader(HISTORIES, { disk, clock: coldClock(), pauses: NO_PAUSES });
    const range = { from: 0, to: 100 };
    expect(reader.readAll(GROUP, [range])).toEqual([bytesAt(0, 100)]);
    const later = reader.readAll(GROUP, [range]);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toEqual([bytesAt(0, 100)]);
  });

  it('leaves the thread, which may have to close some, while no descriptor is free', async () => {
    const { disk } = await withRecords([5_000]);
    const open = disk.open.bind(disk);
    let failures = 2;
    disk.open = (path) => {
      if (failures-- > 0) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
      return open(path);
    };
    const reader = new SegmentReader(HISTORIES, { disk, clock: STILL, pauses: NO_PAUSES });
    const read = reader.readAll(GROUP, [{ from: 0, to: 5_000 }]);
    expect(read).toBeInstanceOf(Promise);
    expect(await read).toEqual([bytesAt(0, 5_000)]);
    expect(failures).toBeLessThan(0);
  });

  it('reports a failed read when no other one still writes into memory', async () => {
    const { disk } = await withRecords([100, 100], 1);
    const [first = ''] = disk.files;
    const gate = Promise.withResolvers<void>();
    let isOver = false;
    const open = disk.open.bind(disk);
    disk.open = (path) => {
      const file = open(path);
      const readLater = async (into: Uint8Array, at: number): Promise<number> => {
        if (path === first) throw new Error('EIO');
        await gate.promise;
        isOver = true;
        return (await file?.readLater(into, at)) ?? 0;
      };
      return file && { ...file, readLater };
    };
    const reader = new SegmentReader(HISTORIES, { disk, clock: coldClock(), pauses: NO_PAUSES });
    const ranges = [
      { from: 0, to: 100 },
      { from: 100, to: 200 },
    ];
    // The first reads are slow, so that the next ones leave the thread.
    for (const range of ranges) reader.read(GROUP, range);
    const failed = Promise.resolve(reader.readAll(GROUP, ranges)).catch(() => isOver);
    setImmediate(gate.resolve);
    expect(await failed).toBe(true);
  });
});
