// Goal: the log writes, syncs, starts and drops segments as documented, and stops after a failure. Method: logs on a
// disk in memory whose calls are all watched or made to fail.
import { describe, expect, it } from 'vitest';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type EncodedRecords, NO_CHECKPOINT, RecordWriter, Wal } from '#storage';
import { SECTOR_BYTES } from '../../../src/storage/wal-format.ts';
import { fileError } from '../../support/file-names.ts';
import { encode, stateOf } from '../../support/log-model.ts';
import { type DiskStep, MemoryDisk, NOTHING_SURVIVES } from '../../support/memory-disk.ts';
import {
  checkpoint,
  entries,
  entryOf,
  failureOf,
  GROUP,
  IDENTITY,
  openLog,
  SEGMENT_BYTES,
  segments,
  settled,
  TERM,
  twoSegments,
  vote,
} from '../../support/small-log.ts';

it.each([
  ['too small', 8 * 1024],
  ['no whole number of sectors', SEGMENT_BYTES + 100],
])('a new log is not created with segments of a size that is %s', (_why, segmentBytes) => {
  expect(() => Wal.open('wal', { identity: IDENTITY, segmentBytes, disk: new MemoryDisk() })).toThrow(/segment/);
});

describe('an append', () => {
  it('is one write and one sync for all messages, and a note in the guard (W6, W8)', () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    const steps = watch(disk);
    const facts = wal.append([entries(1, 3), entries(4, 1), entries(5, 2)]);
    expect(facts.batches).toBe(1);
    expect(steps).toEqual([
      { kind: 'write', path: 'wal/000000000001.wal' },
      { kind: 'sync', path: 'wal/000000000001.wal' },
      { kind: 'write', path: 'wal/guard' },
    ]);
    expect(stateOf(openLog(disk).recovered).groups[GROUP]?.entries.map((entry) => entry.index)).toEqual([
      1, 2, 3, 4, 5, 6,
    ]);
  });

  it('with a term or a vote syncs the guard too (W8)', () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    const steps = watch(disk);
    wal.append([vote()]);
    expect(steps.map((step) => `${step.kind} ${step.path}`)).toEqual([
      'write wal/000000000001.wal',
      'sync wal/000000000001.wal',
      'write wal/guard',
      'sync wal/guard',
    ]);
  });

  it('of more records than fit into one batch takes several, each with its sync, in order (W6)', () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    const steps = watch(disk);
    const { batches } = wal.append([entries(1, 20, 1000), entries(21, 20, 1000)]);
    expect(batches).toBeGreaterThan(4);
    expect(steps.filter((step) => step.kind === 'sync' && step.path.endsWith('.wal'))).toHaveLength(batches);
    expect(stateOf(openLog(disk).recovered).groups[GROUP]?.entries).toHaveLength(40);
  });

  it('of a message that fits into a batch is there as a whole after a crash, or not at all (W6)', () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    // Together they do not fit into a batch, which is half of a segment.
    failAfter(disk, 1, (step) => step.kind === 'write' && step.path.endsWith('.wal'));
    expect(() => wal.append([entries(1, 5, 1000), entries(6, 5, 1000)])).toThrow('EIO');
    const left = stateOf(openLog(disk.afterPowerLoss(NOTHING_SURVIVES)).recovered).groups[GROUP]?.entries;
    expect(left?.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5]);
  });

  it('of a record that fits into no batch throws as a bug, with nothing written', () => {
    const { wal } = openLog(new MemoryDisk());
    wal.append([vote()]);
    expect(() => wal.append([entries(1, 1, SEGMENT_BYTES / 2)])).toThrow(/fits into half of a segment/);
  });

  it.each([
    ['an entry that leaves a gap', entries(5, 1), /entry 5 of group 7, whose last entry is 2/],
    ['an entry before its term', encode([entryOf(3, 9)]), /term 9, before its hard state with term 1/],
    ['a second vote in a term', vote(1, 2), /vote of group 7 for 2 in term 1 after one for 1/],
    ['a checkpoint beyond the last entry', checkpoint(3), /checkpoint of group 7 at 3/],
    ['a start of a later term', logStart(9, 2), /start of group 7 behind 9 of term 2, in term 1/],
    ['a start behind a checkpoint', logStart(0), /start of group 7 behind 0.*whose checkpoint is at 1/],
  ])('of %s throws as a bug, and stops the log (W7, W11)', (_what, records, message) => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote(), entries(1, 2), checkpoint(1)]);
    const steps = watch(disk);
    expect(() => wal.append([records])).toThrow(message);
    expect(() => wal.append([entries(3, 1)])).toThrow(message);
    expect(steps).toEqual([]);
  });
});

it('a full segment costs the next append only a rename when the spare is ready (W13)', async () => {
  const disk = new MemoryDisk();
  const { wal } = openLog(disk);
  wal.append([vote()]);
  let index = 1;
  for (; segments(disk).length === 1; index++) {
    const steps = watch(disk);
    wal.append([entries(index, 1, 400)]);
    const written = steps.filter((step) => step.kind === 'write' && step.path.endsWith('.spare'));
    // Header and summary, without any sector of zeros.
    expect(written.length).toBeLessThanOrEqual(2);
    wal.tidy();
    await settled();
  }
  expect(index).toBeGreaterThan(10);
});

describe('the file of a segment that is not needed any more', () => {
  it('becomes a later segment, without zeros in between (W5, W13)', async () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    const next = await released(disk, wal);
    const steps = watch(disk);
    let index = next;
    for (; segments(disk).at(-1) !== 3; index++) wal.append([entries(index, 1, 400)]);
    expect(steps.filter(({ kind, path }) => kind === 'create' || path.endsWith('.spare'))).toEqual([
      // Header and summary.
      { kind: 'write', path: expect.stringMatching(/spare$/) },
      { kind: 'write', path: expect.stringMatching(/spare$/) },
      { kind: 'sync', path: expect.stringMatching(/spare$/) },
    ]);
    for (const same of [disk.afterProcessDeath(), disk.afterPowerLoss(NOTHING_SURVIVES)]) {
      expect(stateOf(openLog(same).recovered).groups[GROUP]?.entries.at(-1)?.index).toBe(index - 1);
    }
  });

  it('has lost its name durably before it is written', async () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    const next = await released(disk, wal);
    // A power loss before the first write into the file.
    const before = disk.afterPowerLoss(NOTHING_SURVIVES);
    expect(segments(before)).toEqual([2]);
    expect(stateOf(openLog(before).recovered).groups[GROUP]?.entries.at(-1)?.index).toBe(next - 1);
  });

  it('ends before a batch that did not reach it, where it has old batches (W4)', async () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    let index = await released(disk, wal);
    for (; segments(disk).at(-1) !== 3; index++) wal.append([entries(index, 1, 400)]);
    failOnce(disk, (step) => step.kind === 'sync' && step.path.endsWith('3.wal'), 'EIO');
    expect(() => wal.append([entries(index, 8, 400)])).toThrow('EIO');
    const lost = disk.afterPowerLoss(NOTHING_SURVIVES);
    expect(Buffer.from(lost.file('wal/000000000003.wal').subarray(SEGMENT_BYTES / 2)).includes('CBAT')).toBe(true);
    const { wal: reopened, recovered } = openLog(lost);
    expect(recovered.groups.get(GROUP)?.entries.at(-1)?.index).toBe(index - 1);
    reopened.append([entries(index, 1, 5)]);
    expect(openLog(lost).recovered.groups.get(GROUP)?.entries.at(-1)).toMatchObject({ index });
  });
});

it('a full segment has no successor when there are more groups than half a segment can name', () => {
  const { wal } = openLog(new MemoryDisk());
  const manyVotes = new RecordWriter();
  for (let group = 0; group < 200; group++) manyVotes.hardState(toGroupId(group), { term: TERM, vote: 1 });
  expect(() => wal.append([manyVotes.take(), entries(1, 40, 300)])).toThrow(/larger segments/);
});

describe('a failure', () => {
  it.each<readonly [string, DiskStep['kind'], string, RegExp]>([
    ['write', 'write', 'wal/000000000001.wal', /000000000001.wal could not be written \(EIO/],
    ['sync', 'sync', 'wal/000000000001.wal', /000000000001.wal could not be written \(EIO/],
    ['write of the guard', 'write', 'wal/guard', /guard could not be written \(EIO/],
    ['sync of the guard', 'sync', 'wal/guard', /guard could not be written \(EIO/],
  ])('of a %s is the last operation on the disk (W7)', (_what, kind, path, message) => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    failOnce(disk, (step) => step.kind === kind && step.path === path, 'EIO');
    const failure = failureOf(() => wal.append([vote()]));
    expect(failure).toMatchObject({ kind: 'unwritten', path, message });
    const steps = watch(disk);
    expect(failureOf(() => wal.append([entries(1, 1)]))).toBe(failure);
    expect(failureOf(() => wal.tidy())).toBe(failure);
    expect(steps).toEqual([]);
  });

  it('for lack of space for a segment is reported before the first byte of the batch', () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote()]);
    failAlways(disk, (step) => step.kind === 'write' && step.path.endsWith('.spare'), 'ENOSPC');
    let index = 1;
    const fill = (): void => {
      for (; index < 200; index++) wal.append([entries(index, 1, 400)]);
    };
    expect(failureOf(fill)).toMatchObject({ kind: 'full', message: /no space left/ });
    disk.onStep = undefined;
    expect(stateOf(openLog(disk).recovered).groups[GROUP]?.entries).toHaveLength(index - 1);
    expect(disk.list('wal').filter((name) => name.endsWith('.spare'))).toEqual([]);
  });

  it('for lack of space in the background is ignored: the log continues without a spare (W13)', async () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote(), entries(1, 20, 400)]);
    let failures = 0;
    failOnce(disk, (step) => step.path.endsWith('.spare') && step.kind === 'write' && ++failures > 0, 'ENOSPC');
    wal.tidy();
    await settled();
    expect(failures).toBe(1);
    expect(disk.list('wal').filter((name) => name.endsWith('.spare'))).toEqual([]);
    for (let index = 21; index < 100; index++) {
      wal.append([entries(index, 1, 400)]);
      wal.tidy();
      await settled();
    }
    expect(segments(disk).length).toBeGreaterThan(2);
  });

  it('of the disk in the background stops the log (W7)', async () => {
    const disk = new MemoryDisk();
    const { wal } = openLog(disk);
    wal.append([vote(), entries(1, 20, 400)]);
    failOnce(disk, (step) => step.path.endsWith('.spare') && step.kind === 'sync', 'EIO');
    wal.tidy();
    await settled();
    expect(() => wal.append([entries(21, 1)])).toThrow(/spare could not be written \(EIO/);
    await wal.close();
  });
});

it('the guard is synced every 64 batches, and at other times only with a vote (W8)', () => {
  const disk = new MemoryDisk();
  const { wal } = openLog(disk);
  wal.append([vote()]);
  const steps = watch(disk);
  for (let index = 1; index <= 200; index++) {
    wal.append([entries(index, 1, 10), checkpoint(index)]);
    wal.tidy();
  }
  expect(steps.filter((step) => step.kind === 'sync' && step.path === 'wal/guard')).toHaveLength(3);
});

it('a log that is opened removes the files of an interrupted creation', () => {
  const disk = twoSegments();
  disk.open('wal/9.spare', 'create').close();
  disk.open('wal/guard.new', 'create').close();
  openLog(disk);
  expect(disk.list('wal').toSorted()).toEqual(['000000000001.wal', '000000000002.wal', 'guard']);
});

it('a log that is opened overwrites a torn batch with zeros, and then with records (W5)', () => {
  const disk = twoSegments();
  const { wal, recovered: before } = openLog(disk);
  const next = (before.groups.get(GROUP)?.entries.at(-1)?.index ?? 0) + 1;
  failOnce(disk, (step) => step.kind === 'sync', 'EIO');
  expect(() => wal.append([entries(next, 3, 600)])).toThrow('EIO');
  const torn = disk.afterProcessDeath();
  const bytes = torn.file('wal/000000000002.wal');
  const lastSector = bytes.findLastIndex((byte) => byte !== 0) & ~(SECTOR_BYTES - 1);
  bytes.fill(0, lastSector);
  const { wal: reopened, recovered } = openLog(torn);
  expect(recovered.groups.get(GROUP)?.entries.at(-1)?.index).toBe(next - 1);
  reopened.append([entries(next, 1, 5)]);
  expect(openLog(torn).recovered.groups.get(GROUP)?.entries.at(-1)).toMatchObject({ index: next });
});

/** Fills segment 1 and releases it. Returns the index of the next entry. */
async function released(disk: MemoryDisk, wal: Wal): Promise<number> {
  let index = 1;
  for (; segments(disk).at(-1) !== 2; index++) wal.append([entries(index, 1, 400)]);
  wal.append([checkpoint(index - 1), entries(index, 1)]);
  wal.tidy();
  await settled();
  expect(segments(disk)).toEqual([2]);
  return index + 1;
}

function logStart(index: number, term: number = TERM): EncodedRecords {
  const at = { ...NO_CHECKPOINT, index: toLogIndex(index), term: toTerm(term), revision: toRevision(index) };
  return encode([{ kind: 'log-start', group: GROUP, checkpoint: at }]);
}

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

/** Fails the step after so many of them. */
function failAfter(disk: MemoryDisk, count: number, matches: (step: DiskStep) => boolean): void {
  let left = count;
  disk.onStep = (step): void => {
    if (!matches(step)) return;
    left -= 1;
    if (left < 0) throw fileError('EIO', step.path);
  };
}

function failAlways(disk: MemoryDisk, matches: (step: DiskStep) => boolean, code: string): void {
  disk.onStep = (step): void => {
    if (matches(step)) throw fileError(code, step.path);
  };
}
