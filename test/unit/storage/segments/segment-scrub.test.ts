// Goal: every sealed segment is verified; a fault is reported with the segment if it stays, and
// files that a running node changes or deletes have none. Method: a simulated disk.
import { expect, it } from 'vitest';
import { type GroupId, toGroupId } from '#base';
import { HistoryFault } from '#kv';
import { BLOCK_BYTES } from '../../../../src/storage/segments/segment-format.ts';
import { scrubSegments } from '../../../../src/storage/segments/segment-scrub.ts';
import { recordsAt } from '../../../support/history-records.ts';
import { HISTORIES, SegmentHistories } from '../../../support/segment-histories.ts';

const GROUPS = [toGroupId(7), toGroupId(0x1a)] as const;
const FILE = `${HISTORIES}/0000001a/0000000000001388.segment`;

/** Two sealed segments and an open one in each group. */
async function twoHistories(): Promise<SegmentHistories> {
  const kept = new SegmentHistories();
  for (const group of GROUPS) await append(kept, group);
  await kept.sync();
  return kept;
}

async function append({ histories }: SegmentHistories, group: GroupId): Promise<void> {
  const records = recordsAt({ position: 0, lengths: [5_000, 9_000, 10], segmentBytes: 5_000 });
  await histories.append(new Map([[group, records]]));
}

/** Steps until nothing is left to do for now; returns the bytes that were read. */
function finish(scrub: ReturnType<typeof scrubSegments>): number {
  let bytes = 0;
  for (let step = scrub.next(); step.done !== true; step = scrub.next()) {
    if (step.value === 'not-now') return -1;
    if (step.value instanceof HistoryFault) throw step.value;
    bytes += step.value;
  }
  return bytes;
}

it('verifies all sealed segments', async () => {
  const { disk } = await twoHistories();
  const scrub = scrubSegments(HISTORIES, disk);
  expect(finish(scrub)).toBe(2 * 7 * BLOCK_BYTES);
  expect(finish(scrub)).toBe(0);
  expect(disk.openCount).toBe(2);
});

it('reports a fault that is still there at a second look, with the segment', async () => {
  const { disk } = await twoHistories();
  let scrub = scrubSegments(HISTORIES, disk);
  const bytes = disk.file(FILE);
  bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
  expect(finish(scrub)).toBe(-1);
  bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
  expect(finish(scrub)).toBe(4 * BLOCK_BYTES);
  bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
  scrub = scrubSegments(HISTORIES, disk);
  expect(finish(scrub)).toBe(-1);
  expect(() => finish(scrub)).toThrow(
    /^The bytes 5000 to 14000 of the history of group 26 cannot be read: segment 0000000000001388.segment: /,
  );
});

it('reports a segment that cannot be read, is cut, or ends before the next one begins', async () => {
  for (const [harm, message] of [
    [async ({ disk }: SegmentHistories) => disk.resize(FILE, 4_096), 'not that of a footer'],
    [async ({ disk }: SegmentHistories) => disk.remove(FILE), 'ends at position 5000'],
    [
      async ({ disk }: SegmentHistories) => {
        disk.onRead = (path) => {
          if (path === FILE) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'read' });
        };
      },
      'EIO',
    ],
  ] as const) {
    const kept = await twoHistories();
    await harm(kept);
    const scrub = scrubSegments(HISTORIES, kept.disk);
    expect(finish(scrub)).toBe(-1);
    expect(() => finish(scrub)).toThrow(message);
  }
});

it('takes no part of a segment that is not sealed yet, was deleted, or is another one by now, for damage', async () => {
  const kept = await twoHistories();
  const { disk, histories } = kept;
  const group = toGroupId(3);
  await append(kept, group);
  let scrub = scrubSegments(HISTORIES, disk);
  expect(finish(scrub)).toBe(2 * 7 * BLOCK_BYTES);
  scrub = scrubSegments(HISTORIES, disk);
  expect(scrub.next().value).toBe(3 * BLOCK_BYTES);
  // The first segment of the group is open meanwhile; the others are deleted.
  await histories.cut(GROUPS[0], 0);
  await histories.cut(GROUPS[1], 0);
  expect(finish(scrub)).toBe(-1);
  expect(finish(scrub)).toBe(0);
  await kept.sync();
  scrub = scrubSegments(HISTORIES, disk);
  expect(scrub.next().value).toBe(3 * BLOCK_BYTES);
  const path = `${HISTORIES}/00000003/0000000000001388.segment`;
  disk.resize(path, 4_096);
  expect(finish(scrub)).toBe(-1);
  await histories.cut(group, 0);
  expect(finish(scrub)).toBe(0);
});
