// Goal: the comparison of segments at the end of a run notices every difference, and no lag. Method: two disks, one of
// which is harmed.
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import { recordsAt } from '../support/history-records.ts';
import { HISTORIES, SegmentHistories } from '../support/segment-histories.ts';
import { compareSegments } from './sealed-segments.ts';

const GROUP = toGroupId(7);
const FILE = `${HISTORIES}/00000007/0000000000000000.segment`;

async function node(name: string, lengths: readonly number[]) {
  const kept = new SegmentHistories();
  const records = recordsAt({ position: 0, lengths, segmentBytes: 5_000 });
  await kept.histories.append(new Map([[GROUP, records]]));
  return { name, kept, disk: kept.disk };
}

it('names a node with another segment or a wrong footer, not one that lacks the last ones', async () => {
  const [one, other] = [await node('one', [5_000, 6_000, 10]), await node('other', [5_000, 6_000])];
  await one.kept.sync();
  expect(compareSegments(GROUP, [one, other])).toEqual({ faults: [], sealed: 2 });
  other.disk.file(FILE).fill(1, 4_200, 4_201);
  const { faults } = compareSegments(GROUP, [one, other]);
  expect(faults).toEqual(['other has another segment 0000000000000000.segment of group 7 than one']);
  one.disk.file(FILE).fill(1, 3 * 4_096, 3 * 4_096 + 1);
  expect(compareSegments(GROUP, [one]).faults).toHaveLength(1);
});
