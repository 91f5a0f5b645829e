// Goal: after a power loss at any call, everything that a sync covered can be read, and what it did not cover is right
// or gone; and sealed segments have whole footers, or for a while none. Method: a simulated disk that keeps everything,
// nothing, or some of what was not synced; a cut to the last synced end or to a later one, as after rows that survived;
// then more appends, and another power loss.
import { expect, it } from 'vitest';
import { type GroupId, toGroupId } from '#base';
import { HistoryFault } from '#kv';
import { bytesUpTo, groupName, segmentBases, segmentName } from '../../../src/storage/segments/segment-format.ts';
import { endedSegments } from '../../../src/storage/segments/segment-seal.ts';
import { bytesAt, recordsAt } from '../../support/history-records.ts';
import type { MemorySegmentDisk, SegmentSurvival } from '../../support/memory-segment-disk.ts';
import { HISTORIES, SegmentHistories, verified } from '../../support/segment-histories.ts';

const GROUPS = [toGroupId(1), toGroupId(2)] as const;
const SEGMENT_BYTES = 10_000;
const NOTHING: SegmentSurvival = { sector: () => false, name: () => false };
const EVERYTHING: SegmentSurvival = { sector: () => true, name: () => true };

interface Known {
  /** End of the history as of its last append, and as of the last finished sync. */
  readonly ends: Map<GroupId, number>;
  readonly synced: Map<GroupId, number>;
  readonly segments: Map<GroupId, number>;
}

const LENGTHS: readonly (readonly number[])[] = [
  [50],
  [3_000, 2_000],
  [10],
  [9_000, 300],
  [4_090],
  [20],
  [700, 15_000],
  [6],
];

async function append(kept: SegmentHistories, known: Known, group: GroupId, lengths: readonly number[]): Promise<void> {
  const position = known.ends.get(group) ?? 0;
  const records = recordsAt({ position, segment: known.segments.get(group), lengths, segmentBytes: SEGMENT_BYTES });
  // From now on some of it may be on the disk.
  known.ends.set(group, position + records.bytes.length);
  const segment = records.segments.at(-1)?.position;
  if (segment !== undefined) known.segments.set(group, segment);
  await kept.append(new Map([[group, records]]));
}

async function sync(kept: SegmentHistories, known: Known): Promise<void> {
  const covered = [...known.ends];
  await kept.sync();
  for (const [group, end] of covered) known.synced.set(group, end);
}

/** Appends and syncs until the disk fails. */
async function work(kept: SegmentHistories, known: Known): Promise<void> {
  for (const [index, lengths] of LENGTHS.entries()) {
    for (const group of GROUPS) await append(kept, known, group, lengths);
    if (index % 3 === 2) await sync(kept, known);
  }
  for (const group of GROUPS) {
    const synced = known.synced.get(group) ?? 0;
    await kept.cut(group, synced);
    known.segments.set(group, lastSegment(kept.disk, group));
    known.ends.set(group, synced);
    await append(kept, known, group, [1_000, 7_000]);
  }
  await sync(kept, known);
  for (const group of GROUPS) await append(kept, known, group, [10, 9_000]);
  await kept.histories.copy(GROUPS[0], toGroupId(3));
}

function knownNothing(): Known {
  return { ends: new Map(), synced: new Map(), segments: new Map() };
}

/** The histories after a power loss before this step, and the state then; undefined when there are fewer steps. */
async function crashAt(
  step: number,
  survival: SegmentSurvival,
): Promise<readonly [SegmentHistories, Known] | undefined> {
  const kept = new SegmentHistories();
  const known = knownNothing();
  let left = step;
  kept.disk.onStep = () => {
    left -= 1;
    if (left < 0) throw new Error('the power fails');
  };
  const isDone = await work(kept, known).then(
    () => true,
    () => false,
  );
  return isDone ? undefined : [kept.afterPowerLoss(survival), known];
}

function some(seed: number): SegmentSurvival {
  let state = seed;
  const draw = (): boolean => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state < 0;
  };
  return { sector: draw, name: draw };
}

/** Opens the histories as after a crash, checks them, and appends to them. */
async function recover(kept: SegmentHistories, { ends, synced, segments }: Known, seed: number): Promise<void> {
  const { disk, history } = kept;
  const next = knownNothing();
  for (const group of GROUPS) {
    const durable = synced.get(group) ?? 0;
    const applied = durable + Math.floor((((ends.get(group) ?? 0) - durable) * (seed % 4)) / 3);
    const end = await kept.cut(group, applied);
    expect(end).toBeGreaterThanOrEqual(durable);
    expect(end).toBeLessThanOrEqual(applied);
    // Between the synced end and this one there may be faults, which end the read of all that follows.
    const found = readOrFault(() => history.read(group, { from: durable, to: end }));
    expect(found === undefined || Buffer.compare(found, bytesAt(durable, end - durable)) === 0).toBe(true);
    if (found !== undefined) expectFooters(disk, group, { mayBeMissing: true });
    expect(await kept.cut(group, durable)).toBe(durable);
    expect(Buffer.compare(history.read(group, { from: 0, to: durable }), bytesAt(0, durable))).toBe(0);
    expect(() => history.read(group, { from: durable, to: durable + 1 })).toThrow(HistoryFault);
    next.ends.set(group, durable);
    const segment = (segments.get(group) ?? 0) < durable ? segments.get(group) : lastSegment(disk, group);
    if (durable > 0) next.segments.set(group, segment ?? 0);
    await append(kept, next, group, [100, 12_000]);
  }
  await sync(kept, next);
  for (const group of GROUPS) expectFooters(disk, group);
  const again = kept.afterPowerLoss(NOTHING);
  for (const group of GROUPS) {
    const end = next.ends.get(group) ?? 0;
    expect(await again.cut(group, end)).toBe(end);
    expectFooters(again.disk, group);
    expect(Buffer.compare(again.history.read(group, { from: 0, to: end }), bytesAt(0, end))).toBe(0);
  }
}

/** Every segment but the last has its footer, or none at all. */
function expectFooters(disk: MemorySegmentDisk, group: GroupId, { mayBeMissing = false } = {}): void {
  const directory = `${HISTORIES}/${groupName(group)}`;
  for (const segment of endedSegments(segmentBases(disk.list(directory)))) {
    const path = `${directory}/${segmentName(segment.base)}`;
    if (mayBeMissing && disk.file(path).length === bytesUpTo(segment.next, segment.base)) continue;
    expect(verified(disk, path, segment)).toMatchObject({ position: segment.next });
  }
}

function lastSegment(disk: MemorySegmentDisk, group: GroupId): number {
  const names = disk.files.filter((path) => path.includes(`/0000000${group}/`));
  return Number.parseInt(names.at(-1)?.split('/').at(-1) ?? '0', 16);
}

function readOrFault(read: () => Uint8Array): Uint8Array | undefined {
  try {
    return read();
  } catch (failure) {
    if (failure instanceof HistoryFault) return undefined;
    throw failure;
  }
}

/** False when there are fewer steps. */
async function recoversAt(step: number): Promise<boolean> {
  const survivals = [EVERYTHING, NOTHING, ...Array.from({ length: 6 }, (_, number) => some(100 * step + number))];
  for (const [seed, survival] of survivals.entries()) {
    const crashed = await crashAt(step, survival);
    if (crashed === undefined) return false;
    await recover(...crashed, seed);
  }
  return true;
}

it('keeps what a sync covered, whatever else survives a power loss', async () => {
  let step = 0;
  while (await recoversAt(step)) step++;
  expect(step).toBeGreaterThan(50);
});
