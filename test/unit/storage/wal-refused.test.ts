// Goal: a log with unexplained content is rejected when it is opened, with the file and the remedy. Method: small logs
// on a disk in memory, damaged or forged.
import { expect, it } from 'vitest';
import { toLogIndex } from '#base';
import { type EncodedRecords, NO_CHECKPOINT, RecordWriter, type StorageFailure, Wal } from '#storage';
import { sealRecords } from '../../../src/storage/batch-slab.ts';
import { SECTOR_BYTES } from '../../../src/storage/wal-format.ts';
import { encode } from '../../support/log-model.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';
import {
  entries,
  entryOf,
  failureOf,
  GROUP,
  IDENTITY,
  openLog,
  SEGMENT_BYTES,
  TERM,
  twoSegments,
  vote,
} from '../../support/small-log.ts';

const [FIRST, SECOND] = ['wal/000000000001.wal', 'wal/000000000002.wal'] as const;

it.each<readonly [string, (disk: MemoryDisk) => void, Partial<StorageFailure>]>([
  ['its guard is gone', (disk) => disk.remove('wal/guard'), { path: 'wal/guard' }],
  ['its first segment is gone', (disk) => disk.remove(FIRST), {}],
  ['its last segment is gone', (disk) => disk.remove(SECOND), {}],
  ['all segments are gone', (disk) => [FIRST, SECOND].forEach((path) => disk.remove(path)), { path: FIRST }],
  ['a segment has the name of another', (disk) => disk.rename(SECOND, 'wal/000000000003.wal'), {}],
  ['a segment is longer than it was made', (disk) => disk.resize(SECOND, 2 * SEGMENT_BYTES), {}],
  ['a tag at the unused end of an earlier segment is damaged', (disk) => lastByte(disk).fill(1), { path: FIRST }],
  [
    'an earlier segment ends before the next one begins (W3)',
    (disk) => eraseLastBatch(disk, FIRST),
    { path: SECOND, message: expect.stringMatching(/continues batch \d+ at offset/) },
  ],
  ['the guard was synced beyond its end', (disk) => eraseLastBatch(disk, SECOND), { path: SECOND }],
])('a log is rejected when %s', (_why, damage, expected) => {
  const disk = twoSegments();
  damage(disk);
  const failure = failureOf(() => openLog(disk));
  expect(failure).toMatchObject({ kind: 'corrupt', ...expected });
  expect(failure.message).toMatch(
    /found .*move the data directory away and start the node with --join.*from a backup only if the node is alone/s,
  );
});

it('a log is rejected when it belongs to another store or cluster', () => {
  const disk = twoSegments();
  const other = { ...IDENTITY, storeId: new Uint8Array(16).fill(9) };
  const failure = failureOf(() => Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk }));
  expect(failure).toMatchObject({ kind: 'foreign', path: 'wal/guard' });
  disk.remove('wal/guard');
  disk.rename(FIRST, 'spare/1');
  disk.rename(SECOND, 'spare/2');
  Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk });
  disk.remove(FIRST);
  disk.rename('spare/1', FIRST);
  const mixed = failureOf(() => Wal.open('wal', { identity: other, segmentBytes: SEGMENT_BYTES, disk }));
  expect(mixed).toMatchObject({ kind: 'foreign', path: FIRST });
});

it.each([
  ['a gap', encode([{ ...entryOf(3, 1) }]), /entry 3 of group 7, whose last entry is 0/],
  ['a term before its hard state', encode([entryOf(1, 1)]), /before its hard state/],
  ['a summary in the middle', summaryRecord(), /group-summary outside of a summary/],
  ['no chain to the one before in its group', joined(vote(), entries(1, 1)), /chained to another than its last/],
])('a log is rejected when its checksums are valid and its records have %s (W11)', (_what, records, message) => {
  const disk = new MemoryDisk();
  openLog(disk);
  forgeBatch(disk, records);
  expect(failureOf(() => openLog(disk))).toMatchObject({ kind: 'corrupt', message });
});

function lastByte(disk: MemoryDisk): Uint8Array {
  return disk.file(FIRST).subarray(SEGMENT_BYTES - 1);
}

function eraseLastBatch(disk: MemoryDisk, path: string): void {
  const bytes = disk.file(path);
  const last = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).lastIndexOf('CBAT');
  bytes.fill(0, last);
}

/** Writes a batch with valid checksums after the summary of the first segment. */
function forgeBatch(disk: MemoryDisk, records: EncodedRecords): void {
  const bytes = disk.file(FIRST);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const { bytes: batch } = sealRecords(
    records,
    {
      seq: 1,
      crc: view.getUint32(SECTOR_BYTES + 4, true),
      offset: 2 * SECTOR_BYTES,
    },
    1,
  );
  bytes.set(batch, 2 * SECTOR_BYTES);
}

function summaryRecord(): EncodedRecords {
  const writer = new RecordWriter();
  writer.groupSummary(
    { group: GROUP, hardState: { term: TERM, vote: 1 }, checkpoint: NO_CHECKPOINT, lastIndex: toLogIndex(0) },
    0,
  );
  return writer.take();
}

function joined(...parts: readonly EncodedRecords[]): EncodedRecords {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
