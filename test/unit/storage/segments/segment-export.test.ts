// Goal: a sealed segment leaves the node as its file, verified, and its records come back from any division of that
// file; other segments do not leave it. Method: histories on a simulated disk.
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import { HistoryFault } from '#kv';
import { recordsOfSegment, sealedSegment } from '../../../../src/storage/segments/segment-export.ts';
import { bytesAt, recordsAt, startAt } from '../../../support/history-records.ts';
import { HISTORIES, SegmentHistories } from '../../../support/segment-histories.ts';

const GROUP = toGroupId(7);
const FILE = `${HISTORIES}/00000007/0000000000000000.segment`;

async function sealed(length: number): Promise<SegmentHistories> {
  const kept = new SegmentHistories();
  const records = recordsAt({ position: 0, lengths: [length, 10], segmentBytes: length });
  await kept.append(new Map([[GROUP, records]]));
  await kept.sync();
  return kept;
}

it.each([2, 4_090, 4_092, 300_000])('gives the file of a segment of %s bytes, and its records back', async (length) => {
  const { disk } = await sealed(length);
  const segment = await sealedSegment(HISTORIES, { group: GROUP, position: 0 }, disk);
  if (segment === undefined) throw new Error('the segment is sealed');
  const chunks: Uint8Array[] = [];
  for await (const chunk of segment.chunks()) chunks.push(chunk);
  const file = Buffer.concat(chunks);
  expect(Buffer.compare(file, disk.file(FILE))).toBe(0);
  expect(segment).toMatchObject({ byteLength: file.length, next: startAt(length) });
  for (const size of [1_000, 4_096, 5_000, file.length]) {
    const parts = Array.from({ length: Math.ceil(file.length / size) }, (_, at) =>
      file.subarray(at * size, (at + 1) * size),
    );
    expect(Buffer.compare(Buffer.concat([...recordsOfSegment(parts)]), bytesAt(0, length))).toBe(0);
  }
});

it('gives no segment that is open, missing or not a segment', async () => {
  const { disk } = await sealed(5_000);
  for (const position of [5_000, 6_000]) {
    expect(await sealedSegment(HISTORIES, { group: GROUP, position }, disk)).toBe(undefined);
  }
  expect(() => [...recordsOfSegment([new Uint8Array(8_192)])]).toThrow('the file is no sealed segment: its header');
});

it('refuses a damaged segment', async () => {
  const { disk } = await sealed(5_000);
  const file = disk.file(FILE);
  file[5_000] = (file[5_000] ?? 0) ^ 1;
  await expect(sealedSegment(HISTORIES, { group: GROUP, position: 0 }, disk)).rejects.toThrow(HistoryFault);
  expect(() => [...recordsOfSegment([file])]).toThrow('block 1 does not match its checksum');
});
