// Goal: the log writes, syncs, begins and drops segments as it promises, refuses what it cannot account for, and stops
// for good after a failure. Method: logs on a disk in memory whose every call is watched, failed or followed by damage.

import { describe, expect, it } from 'vitest';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type EncodedRecords, RecordWriter, StorageFailure, Wal } from '#storage';
import { BatchSlab } from '../../../src/storage/batch-slab.ts';
import { SECTOR_BYTES } from '../../../src/storage/wal-format.ts';
import { encode, fold, RecordSource, seededDraw, stateOf } from '../../support/log-model.ts';
import { type DiskStep, fileError, MemoryDisk } from '../../support/memory-disk.ts';

const SEGMENT_BYTES = 16 * 1024;
const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const GROUP = toGroupId(7);
const TERM = toTerm(1);

describe('a new log', () => {
  it('is empty, and still is when it is opened again', () => {
    const disk = new MemoryDisk();
    const empty = { groups: {}, tombstones: [] };
    expect(stateOf(open(disk).recovered)).toEqual(empty);
    expect(stateOf(open(disk).recovered)).toEqual(empty);
    expect(disk.list('wal').toSorted()).toEqual(['000000000001.wal', 'guard']);
  });

  it('gives its first segment a name only when all of it is synced (W9)', () => {
    const disk = new MemoryDisk();
    const steps = watch(disk);
    open(disk);
    const named = steps.findIndex((step) => step.kind === 'rename' && step.path === 'wal/000000000001.wal');
    expect(named).toBeGreaterThan(0);
    expect(steps[named - 1]).toEqual({ kind: 'sync', path: 'wal/1.spare' });
    expect(steps[named + 1]).toEqual({ kind: 'sync-directory', path: 'wal' });
    expect(steps.slice(named + 1).filter((step) => step.path === 'wal/000000000001.wal')).toEqual([]);
  });

  it.each([
    ['too small', 8 * 1024],
    ['no whole number of sectors', SEGMENT_BYTES + 100],
  ])('is not begun with segments of a size that is %s', (_why, segmentBytes) => {
    expect(() => Wal.open('wal', { identity: IDENTITY, segmentBytes, disk: new MemoryDisk() })).toThrow(/segment/);
  });
});

describe('an append', () => {
  it('is one write and one sync for all messages, and a note in the guard (W6, W8)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    const steps = watch(disk);
    const facts = wal.append([entries(1, 3), entries(4, 1), entries(5, 2)]);
    expect(facts.batches).toBe(1);
    expect(steps).toEqual([
      { kind: 'write', path: 'wal/000000000001.wal' },
      { kind: 'sync', path: 'wal/000000000001.wal' },
      { kind: 'write', path: 'wal/guard' },
    ]);
    expect(stateOf(open(disk).recovered).groups[GROUP]?.entries.map((entry) => entry.index)).toEqual([
      1, 2, 3, 4, 5, 6,
    ]);
  });

  it('with a term or a vote syncs the guard too (W8)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    const steps = watch(disk);
    wal.append([vote()]);
    expect(steps.map((step) => `${step.kind} ${step.path}`)).toEqual([
      'write wal/000000000001.wal',
      'sync wal/000000000001.wal',
      'write wal/guard',
      'sync wal/guard',
    ]);
  });

  it('of nothing writes nothing', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    const steps = watch(disk);
    expect(wal.append([])).toEqual({ bytes: 0, batches: 0 });
    expect(wal.append([new RecordWriter().take()])).toEqual({ bytes: 0, batches: 0 });
    expect(steps).toEqual([]);
  });

  it('of more than fits into one batch takes several, each with its sync, in order (W6)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    const steps = watch(disk);
    const { batches } = wal.append([entries(1, 20, 1000), entries(21, 20, 1000)]);
    expect(batches).toBeGreaterThan(4);
    expect(steps.filter((step) => step.kind === 'sync' && step.path.endsWith('.wal'))).toHaveLength(batches);
    expect(stateOf(open(disk).recovered).groups[GROUP]?.entries).toHaveLength(40);
  });

  it('of a record that fits into no batch is refused as a bug, with nothing written', () => {
    const { wal } = open(new MemoryDisk());
    wal.append([vote()]);
    expect(() => wal.append([entries(1, 1, SEGMENT_BYTES / 2)])).toThrow(/fits into half of a segment/);
  });

  it.each([
    ['an entry that leaves a gap', entries(5, 1), /entry 5 of group 7, whose last entry is 2/],
    ['an entry before its term', encode([entryOf(3, 9)]), /term 9, before its hard state with term 1/],
    ['a second vote in a term', vote(1, 2), /vote of group 7 for 2 in term 1 after one for 1/],
    ['a checkpoint beyond the last entry', checkpoint(3), /checkpoint of group 7 at 3/],
  ])('of %s is refused as a bug, and stops the log (W7, W11)', (_what, records, message) => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote(), entries(1, 2)]);
    const steps = watch(disk);
    expect(() => wal.append([records])).toThrow(message);
    expect(() => wal.append([entries(3, 1)])).toThrow(message);
    expect(steps).toEqual([]);
  });
});

describe('a segment that is full', () => {
  it('is followed by one that begins with a summary of every group (W9)', () => {
    const disk = new MemoryDisk();
    const source = new RecordSource(seededDraw(3), { groups: 5, payloadBytesMax: 200 });
    const { wal } = open(disk);
    const records = Array.from({ length: 60 }, () => source.batch(5));
    for (const batch of records) wal.append([encode(batch)]);
    expect(segments(disk).length).toBeGreaterThan(1);
    expect(stateOf(open(disk).recovered)).toEqual(fold(records.flat()));
  });

  it('costs the next append nothing but a name when the spare is ready (W13)', async () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    let index = 1;
    for (; segments(disk).length === 1; index++) {
      const steps = watch(disk);
      wal.append([entries(index, 1, 400)]);
      const written = steps.filter((step) => step.kind === 'write' && step.path.endsWith('.spare'));
      // Header and summary, and not one sector of zeros.
      expect(written.length).toBeLessThanOrEqual(2);
      wal.tidy();
      await settled();
    }
    expect(index).toBeGreaterThan(10);
  });

  it('is followed all the same when no spare was prepared (W13)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    for (let index = 1; index < 200; index++) wal.append([entries(index, 1, 400)]);
    expect(stateOf(open(disk).recovered).groups[GROUP]?.entries).toHaveLength(199);
  });

  it('is not followed when there are more groups than half a segment can name', () => {
    const { wal } = open(new MemoryDisk());
    const manyVotes = new RecordWriter();
    for (let group = 0; group < 200; group++) manyVotes.hardState(toGroupId(group), { term: TERM, vote: 1 });
    expect(() => wal.append([manyVotes.take(), entries(1, 40, 300)])).toThrow(/larger segments/);
  });
});

describe('an old segment', () => {
  it('goes when every group has a checkpoint behind it, each name for good before the next (W12)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    let index = 1;
    for (; segments(disk).length < 4; index++) wal.append([entries(index, 1, 400)]);
    wal.tidy();
    expect(segments(disk)).toEqual([1, 2, 3, 4]);
    wal.append([checkpoint(index - 1)]);
    const steps = watch(disk);
    wal.tidy();
    expect(segments(disk)).toEqual([4]);
    expect(steps.filter((step) => step.kind !== 'create').map((step) => step.kind)).toEqual(
      Array.from({ length: 3 }, () => ['remove', 'sync-directory']).flat(),
    );
    expect(stateOf(open(disk).recovered).groups[GROUP]).toMatchObject({
      checkpoint: { index: index - 1 },
      entries: [],
    });
  });

  it('stays while one group of many has an entry in it (W12)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    const slow = toGroupId(8);
    wal.append([vote(), encode([{ kind: 'hard-state', group: slow, hardState: { term: TERM, vote: 1 } }])]);
    wal.append([encode([{ ...entryOf(1, 1), group: slow }])]);
    for (let index = 1; segments(disk).at(-1) !== 5; index++) {
      wal.append([entries(index, 1, 400), checkpoint(index)]);
      wal.tidy();
    }
    expect(segments(disk)).toEqual([1, 2, 3, 4, 5]);
    wal.append([encode([{ kind: 'group-tombstone', group: slow }])]);
    wal.tidy();
    expect(segments(disk)).toEqual([5]);
    expect(stateOf(open(disk).recovered).tombstones).toEqual([8]);
  });
});

describe('a failure', () => {
  it.each<readonly [string, DiskStep['kind'], string, RegExp]>([
    ['write', 'write', 'wal/000000000001.wal', /000000000001.wal could not be written \(EIO/],
    ['sync', 'sync', 'wal/000000000001.wal', /000000000001.wal could not be written \(EIO/],
    ['write of the guard', 'write', 'wal/guard', /guard could not be written \(EIO/],
    ['sync of the guard', 'sync', 'wal/guard', /guard could not be written \(EIO/],
  ])('of a %s is the last thing that happens to the disk (W7)', (_what, kind, path, message) => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    failOnce(disk, (step) => step.kind === kind && step.path === path, 'EIO');
    const failure = failureOf(() => wal.append([vote()]));
    expect(failure).toMatchObject({ kind: 'unwritten', path, message });
    const steps = watch(disk);
    expect(failureOf(() => wal.append([entries(1, 1)]))).toBe(failure);
    expect(failureOf(() => wal.tidy())).toBe(failure);
    expect(steps).toEqual([]);
  });

  it('for want of space for a segment says so, and comes before the first byte of the batch', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    failAlways(disk, (step) => step.kind === 'write' && step.path.endsWith('.spare'), 'ENOSPC');
    let index = 1;
    const fill = (): void => {
      for (; index < 200; index++) wal.append([entries(index, 1, 400)]);
    };
    expect(failureOf(fill)).toMatchObject({ kind: 'full', message: /no space left/ });
    disk.onStep = undefined;
    expect(stateOf(open(disk).recovered).groups[GROUP]?.entries).toHaveLength(index - 1);
    expect(disk.list('wal').filter((name) => name.endsWith('.spare'))).toEqual([]);
  });

  it('for want of space in the background is none: the log goes on without a spare (W13)', async () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote(), entries(1, 4, 400)]);
    failOnce(disk, (step) => step.path.endsWith('.spare') && step.kind === 'write', 'ENOSPC');
    wal.tidy();
    await settled();
    expect(disk.list('wal').filter((name) => name.endsWith('.spare'))).toEqual([]);
    for (let index = 5; index < 100; index++) {
      wal.append([entries(index, 1, 400)]);
      wal.tidy();
      await settled();
    }
    expect(segments(disk).length).toBeGreaterThan(2);
  });

  it('of the disk in the background stops the log (W7)', async () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote(), entries(1, 4, 400)]);
    failOnce(disk, (step) => step.path.endsWith('.spare') && step.kind === 'sync', 'EIO');
    wal.tidy();
    await settled();
    expect(() => wal.append([entries(5, 1)])).toThrow(/spare could not be written \(EIO/);
    await wal.close();
  });
});

describe('the guard', () => {
  it('is synced every 64 batches, and not more often without a vote (W8)', () => {
    const disk = new MemoryDisk();
    const { wal } = open(disk);
    wal.append([vote()]);
    const steps = watch(disk);
    for (let index = 1; index <= 200; index++) {
      wal.append([entries(index, 1, 10), checkpoint(index)]);
      wal.tidy();
    }
    expect(steps.filter((step) => step.kind === 'sync' && step.path === 'wal/guard')).toHaveLength(3);
  });
});

describe('a log that is opened', () => {
  it('removes what a creation left behind when it was interrupted', () => {
    const disk = twoSegments();
    disk.open('wal/9.spare', 'create').close();
    disk.open('wal/guard.new', 'create').close();
    open(disk);
    expect(disk.list('wal').toSorted()).toEqual(['000000000001.wal', '000000000002.wal', 'guard']);
  });

  it('turns a torn batch back into zeros and writes over it (W5)', () => {
    const disk = twoSegments();
    const { wal, recovered: before } = open(disk);
    const next = (before.groups.get(GROUP)?.entries.at(-1)?.index ?? 0) + 1;
    failOnce(disk, (step) => step.kind === 'sync', 'EIO');
    expect(() => wal.append([entries(next, 3, 600)])).toThrow('EIO');
    const torn = disk.afterProcessDeath();
    const bytes = torn.file('wal/000000000002.wal');
    const lastSector = bytes.findLastIndex((byte) => byte !== 0) & ~(SECTOR_BYTES - 1);
    bytes.fill(0, lastSector);
    const { wal: reopened, recovered } = open(torn);
    expect(recovered.groups.get(GROUP)?.entries.at(-1)?.index).toBe(next - 1);
    reopened.append([entries(next, 1, 5)]);
    expect(open(torn).recovered.groups.get(GROUP)?.entries.at(-1)).toMatchObject({ index: next });
  });

  it('does not hold a segment in memory for the entries that it recovered', () => {
    const disk = new MemoryDisk();
    open(disk).wal.append([vote(), entries(1, 3, 100)]);
    const { recovered } = open(disk);
    for (const { payload } of recovered.groups.get(GROUP)?.entries ?? []) expect(payload.buffer.byteLength).toBe(300);
  });
});

describe('a log is refused', () => {
  it.each<readonly [string, (disk: MemoryDisk) => void, Partial<StorageFailure>]>([
    ['its guard is gone', (disk) => disk.remove('wal/guard'), { kind: 'corrupt', path: 'wal/guard' }],
    ['its first segment is gone', (disk) => disk.remove('wal/000000000001.wal'), { kind: 'corrupt' }],
    ['its last segment is gone', (disk) => disk.remove('wal/000000000002.wal'), { kind: 'corrupt' }],
    [
      'all segments are gone',
      (disk) => {
        disk.remove('wal/000000000001.wal');
        disk.remove('wal/000000000002.wal');
      },
      { kind: 'corrupt', path: 'wal/000000000001.wal' },
    ],
    [
      'a segment has the name of another',
      (disk) => disk.rename('wal/000000000002.wal', 'wal/000000000003.wal'),
      { kind: 'corrupt' },
    ],
    [
      'a segment is longer than it was made',
      (disk) => disk.resize('wal/000000000002.wal', 2 * SEGMENT_BYTES),
      { kind: 'corrupt' },
    ],
    [
      'the unused end of an earlier segment has a byte in it',
      (disk) => disk.file('wal/000000000001.wal').fill(1, SEGMENT_BYTES - 1),
      { kind: 'corrupt', path: 'wal/000000000001.wal' },
    ],
    [
      'an earlier segment ends before the next one begins (W3)',
      (disk) => eraseLastBatch(disk, 'wal/000000000001.wal'),
      {
        kind: 'corrupt',
        path: 'wal/000000000002.wal',
        message: expect.stringMatching(/continues batch \d+ at offset/),
      },
    ],
    [
      'the guard was synced beyond its end',
      (disk) => eraseLastBatch(disk),
      { kind: 'corrupt', path: 'wal/000000000002.wal' },
    ],
  ])('when %s', (_why, damage, expected) => {
    const disk = twoSegments();
    damage(disk);
    const failure = failureOf(() => open(disk));
    expect(failure).toMatchObject(expected);
    expect(failure.message).toMatch(/found .*Restore the data directory from a backup/s);
  });

  it('when it belongs to another store or cluster', () => {
    const disk = twoSegments();
    const other = { ...IDENTITY, storeId: new Uint8Array(16).fill(9) };
    const failure = failureOf(() => Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk }));
    expect(failure).toMatchObject({ kind: 'foreign', path: 'wal/guard' });
    disk.remove('wal/guard');
    disk.rename('wal/000000000001.wal', 'spare/1');
    disk.rename('wal/000000000002.wal', 'spare/2');
    Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk });
    disk.remove('wal/000000000001.wal');
    disk.rename('spare/1', 'wal/000000000001.wal');
    const mixed = failureOf(() => Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk }));
    expect(mixed).toMatchObject({ kind: 'foreign', path: 'wal/000000000001.wal' });
  });

  it.each([
    ['a gap', encode([{ ...entryOf(3, 1) }]), /entry 3 of group 7, whose last entry is 0/],
    ['a term before its hard state', encode([entryOf(1, 1)]), /before its hard state/],
    ['a summary in the middle', summaryRecord(), /group-summary outside of a summary/],
  ])('when its checksums are right and its records have %s (W11)', (_what, records, message) => {
    const disk = new MemoryDisk();
    open(disk);
    forgeBatch(disk, records);
    expect(failureOf(() => open(disk))).toMatchObject({ kind: 'corrupt', message });
  });

  it('when a record is not chained to the one before it in its group (W11)', () => {
    const disk = new MemoryDisk();
    open(disk);
    forgeBatch(disk, joined(vote(), entries(1, 1)));
    expect(failureOf(() => open(disk))).toMatchObject({ kind: 'corrupt', message: /chained to another than its last/ });
  });
});

function open(disk: MemoryDisk): ReturnType<typeof Wal.open> {
  return Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk });
}

function segments(disk: MemoryDisk): readonly number[] {
  return disk
    .list('wal')
    .filter((name) => name.endsWith('.wal'))
    .map((name) => Number.parseInt(name, 10))
    .toSorted((a, b) => a - b);
}

/** A log whose entries fill one segment and reach into the next. */
function twoSegments(): MemoryDisk {
  const disk = new MemoryDisk();
  const { wal } = open(disk);
  wal.append([vote()]);
  for (let index = 1; segments(disk).length < 2; index++) wal.append([entries(index, 1, 600)]);
  return disk;
}

/** Turns the last batch into zeros, as if it had never been written. */
function eraseLastBatch(disk: MemoryDisk, path = 'wal/000000000002.wal'): void {
  const bytes = disk.file(path);
  const last = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).lastIndexOf('CBAT');
  bytes.fill(0, last);
}

/** Puts a batch with right checksums behind the summary of the first segment. */
function forgeBatch(disk: MemoryDisk, records: EncodedRecords): void {
  const bytes = disk.file('wal/000000000001.wal');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const slab = new BatchSlab(SEGMENT_BYTES / 2);
  slab.stage(records, 0);
  const { bytes: batch } = slab.sealSummary({
    seq: 1,
    crc: view.getUint32(SECTOR_BYTES + 4, true),
    offset: 2 * SECTOR_BYTES,
  });
  bytes.set(batch, 2 * SECTOR_BYTES);
}

function summaryRecord(): EncodedRecords {
  const writer = new RecordWriter();
  const zero = { index: toLogIndex(0), term: toTerm(0), revision: toRevision(0) };
  writer.groupSummary(
    { group: GROUP, hardState: { term: TERM, vote: 1 }, checkpoint: zero, lastIndex: toLogIndex(0) },
    0,
  );
  return writer.take();
}

function vote(term = 1, candidate = 1): EncodedRecords {
  return encode([{ kind: 'hard-state', group: GROUP, hardState: { term: toTerm(term), vote: candidate } }]);
}

function entries(first: number, count: number, payloadBytes = 20): EncodedRecords {
  return encode(Array.from({ length: count }, (_, place) => entryOf(first + place, 1, payloadBytes)));
}

function entryOf(index: number, term: number, payloadBytes = 20) {
  const payload = new Uint8Array(payloadBytes).fill(32 + (index % 90));
  return { kind: 'entry', group: GROUP, level: 1, term: toTerm(term), index: toLogIndex(index), payload } as const;
}

function checkpoint(index: number): EncodedRecords {
  const at = { index: toLogIndex(index), term: TERM, revision: toRevision(index) };
  return encode([{ kind: 'checkpoint', group: GROUP, checkpoint: at }]);
}

function joined(one: EncodedRecords, other: EncodedRecords): EncodedRecords {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** The changes to the disk from now on. */
function watch(disk: MemoryDisk): readonly DiskStep[] {
  const steps: DiskStep[] = [];
  disk.onStep = (step): void => {
    steps.push(step);
  };
  return steps;
}

function failOnce(disk: MemoryDisk, matches: (step: DiskStep) => boolean, code: string): void {
  disk.onStep = (step): void => {
    if (!matches(step)) return;
    disk.onStep = undefined;
    throw fileError(code, step.path);
  };
}

function failAlways(disk: MemoryDisk, matches: (step: DiskStep) => boolean, code: string): void {
  disk.onStep = (step): void => {
    if (matches(step)) throw fileError(code, step.path);
  };
}

function failureOf(work: () => unknown): StorageFailure {
  try {
    work();
  } catch (error) {
    if (error instanceof StorageFailure) return error;
    throw error;
  }
  throw new Error('It did not fail');
}

/** Lets what goes on in the background end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}
