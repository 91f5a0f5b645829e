// Goal: docs/formats/wal.md describes the bytes on disk exactly, and headers decode to the values that were encoded.
// Method: the log of the example in the document is written, and every listed byte is compared; bytes that are not
// listed must be zero.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toTerm } from '#base';
import { Wal } from '#storage';
import {
  applyMask,
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeSegmentHeader,
  encodeBatchHeader,
  encodeSegmentHeader,
} from '../../../src/storage/wal-format.ts';
import { hexRows, listedIn } from '../../support/format-pages.ts';
import { encode } from '../../support/log-model.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';

const SEGMENT_BYTES = 16 * 1024;
const IDENTITY = { clusterId: new Uint8Array(16).fill(0x11), storeId: new Uint8Array(16).fill(0x22) };

it('docs/formats/wal.md lists every byte of its example', () => {
  const { bytes, count } = listedIn('wal.md', SEGMENT_BYTES);
  expect(count).toBe(84 + 512 + 512);
  expect(hexRows(bytes)).toEqual(hexRows(exampleSegment()));
});

it('the header of a segment decodes to what was encoded', () => {
  const u64 = fc.nat(Number.MAX_SAFE_INTEGER);
  const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const previous = fc.record({ seq: u64, offset: u64, crc: fc.nat(2 ** 32 - 1) });
  const header = fc.record({ clusterId: id, storeId: id, number: u64, segmentBytes: u64, previous });
  fc.assert(
    fc.property(header, (expected) => {
      expect(decodeSegmentHeader(encodeSegmentHeader(expected))).toEqual({ ...expected, version: 3 });
    }),
  );
});

it('the header of a batch decodes to what was encoded, and the next header repeats its crc', () => {
  const u32 = fc.nat(2 ** 32 - 1);
  const u64 = fc.nat(Number.MAX_SAFE_INTEGER);
  const header = fc.record({
    seq: u64,
    syncedThrough: u64,
    recordBytes: u32,
    recordCount: u32,
    recordsCrc: u32,
    mask: u32,
    previousCrc: u32,
  });
  fc.assert(
    fc.property(header, fc.nat(100), (expected, at) => {
      const bytes = new Uint8Array(at + BATCH_HEADER_BYTES);
      const view = new DataView(bytes.buffer);
      const crc = encodeBatchHeader(bytes, view, at, expected);
      expect(decodeBatchHeader(bytes, view, at)).toEqual({ ...expected, crc });
    }),
  );
});

it('a mask is removed by a second application, and does not change the header of the batch', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 512, maxLength: 512 }), fc.nat(2 ** 32 - 1), (bytes, mask) => {
      const masked = bytes.slice();
      applyMask(masked, mask);
      expect(masked.subarray(0, BATCH_HEADER_BYTES)).toEqual(bytes.subarray(0, BATCH_HEADER_BYTES));
      applyMask(masked, mask);
      expect(masked).toEqual(bytes);
    }),
  );
});

function exampleSegment(): Uint8Array {
  const disk = new MemoryDisk();
  const { wal } = Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk });
  const group = toGroupId(7);
  const term = toTerm(1);
  wal.append([
    encode([
      { kind: 'hard-state', group, hardState: { term, vote: 1 } },
      { kind: 'entry', group, level: 1, term, index: toLogIndex(1), payload: new TextEncoder().encode('hello') },
    ]),
  ]);
  return disk.file('wal/000000000001.wal');
}
