// Goal: docs/formats/wal.md describes the bytes on disk exactly, and headers decode to the values that were encoded.
// Method: the log of the example in the document is written, and every listed byte is compared; bytes that are not
// listed must be zero.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toTerm } from '#base';
import { Wal } from '#storage';
import { intoSectors, isOfSegment, isOld, outOfSectors, storedAt } from '../../../src/storage/sectors.ts';
import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeSegmentHeader,
  encodeBatchHeader,
  encodeSegmentHeader,
  SECTOR_BYTES,
  SECTOR_CONTENT_BYTES,
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
      expect(decodeSegmentHeader(encodeSegmentHeader(expected))).toEqual({ ...expected, version: 4 });
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

it('the content of a batch is moved into sectors and out of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.nat(2 ** 20), (count, segment) => {
      const content = Uint8Array.from({ length: count * SECTOR_CONTENT_BYTES }, (_, at) => at % 251);
      const batch = new Uint8Array(count * SECTOR_BYTES);
      batch.set(content);
      intoSectors(batch, segment);
      expect(isOfSegment(new DataView(batch.buffer), 0, batch.length, segment)).toBe(true);
      for (const [at, byte] of content.entries()) expect(batch[storedAt(at)]).toBe(byte);
      outOfSectors(batch);
      expect(batch.subarray(0, content.length)).toEqual(content);
    }),
  );
});

it('a sector is old when it is zero or of an earlier segment, and with no flipped bit in the tag of this one', () => {
  const sector = new Uint8Array(SECTOR_BYTES);
  const view = new DataView(sector.buffer);
  expect(isOld(view, 0, 1)).toBe(true);
  for (let number = 1; number < 2000; number++) {
    intoSectors(sector, number);
    expect(isOld(view, 0, number)).toBe(false);
    expect(isOld(view, 0, number - 1)).toBe(false);
    expect(isOld(view, 0, number + 1)).toBe(true);
    for (let bit = 0; bit < 32; bit++) {
      const tag = view.getUint32(SECTOR_CONTENT_BYTES, true);
      view.setUint32(SECTOR_CONTENT_BYTES, tag ^ (1 << bit), true);
      expect(isOld(view, 0, number)).toBe(false);
      view.setUint32(SECTOR_CONTENT_BYTES, tag, true);
    }
  }
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
