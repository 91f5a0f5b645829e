// Goal: blocks and headers of segments are what was sealed, or are refused. Method: every bit of both; the example of
// docs/formats/segments.md.
import { describe, expect, it } from 'vitest';
import { toGroupId } from '#base';
import {
  BLOCK_BYTES,
  BLOCK_DATA_BYTES,
  blockAt,
  blockStart,
  groupName,
  readHeader,
  sealBlock,
  segmentBases,
  segmentName,
  usedInBlock,
  writeHeader,
} from '../../../../src/storage/segments/segment-format.ts';
import { examplesOf } from '../../../support/format-pages.ts';
import { bytesAt } from '../../../support/history-records.ts';
import { SegmentHistories } from '../../../support/segment-histories.ts';

const START = {
  position: 2 ** 50 + 3,
  revision: 2 ** 40 + 1,
  chainHash: bytesAt(0, 32),
  totalEvents: 2 ** 45 + 5,
  recordedTimeMs: 1_767_225_600_123,
};
/** Start of the second segment in the example. */
const NEXT = {
  position: 7,
  revision: 2,
  chainHash: new Uint8Array(32).fill(0x22),
  totalEvents: 1,
  recordedTimeMs: Date.UTC(2026, 0, 1),
};

/** Flips each bit in turn. */
function* flips(bytes: Uint8Array): Generator<number> {
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
    yield bit;
    bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
  }
}

describe('a block', () => {
  it('tells how much of it is used, and has zeros behind', () => {
    for (const used of [0, 1, 255, 256, BLOCK_DATA_BYTES]) {
      const bytes = new Uint8Array(3 * BLOCK_BYTES).fill(0xee);
      bytes.set(bytesAt(0, used), BLOCK_BYTES);
      sealBlock(bytes, BLOCK_BYTES, used);
      expect(usedInBlock(bytes, BLOCK_BYTES)).toBe(used);
      expect(bytes.subarray(BLOCK_BYTES + used, BLOCK_BYTES + BLOCK_DATA_BYTES).every((byte) => byte === 0)).toBe(true);
      expect([bytes[BLOCK_BYTES - 1], bytes[2 * BLOCK_BYTES]]).toEqual([0xee, 0xee]);
    }
  });

  it('is refused with any bit flipped', () => {
    const bytes = bytesAt(5, BLOCK_BYTES);
    sealBlock(bytes, 0, 4_000);
    let accepted = 0;
    for (const _ of flips(bytes)) if (usedInBlock(bytes, 0) !== undefined) accepted += 1;
    expect(accepted).toBe(0);
    expect(usedInBlock(bytes, 0)).toBe(4_000);
  });

  it('is refused when it says that more is used than there is', () => {
    const bytes = new Uint8Array(BLOCK_BYTES);
    sealBlock(bytes, 0, BLOCK_DATA_BYTES + 1);
    expect(usedInBlock(bytes, 0)).toBeUndefined();
  });

  it('has the positions that its number says', () => {
    for (const base of [0, 12_345]) {
      expect([blockAt(base, base), blockAt(base + 4_089, base), blockAt(base + 4_090, base)]).toEqual([1, 1, 2]);
      expect([blockStart(1, base), blockStart(3, base)]).toEqual([base, base + 8_180]);
    }
  });
});

describe('a header', () => {
  it('has the start that was written', () => {
    const bytes = new Uint8Array(BLOCK_BYTES).fill(0xee);
    writeHeader(bytes, START);
    expect(readHeader(bytes)).toEqual(START);
  });

  it('is refused with any bit flipped', () => {
    const bytes = new Uint8Array(BLOCK_BYTES);
    writeHeader(bytes, START);
    let accepted = 0;
    for (const _ of flips(bytes)) if (typeof readHeader(bytes) !== 'string') accepted += 1;
    expect(accepted).toBe(0);
  });

  it('is refused with another magic, format or length', () => {
    const changes: readonly (readonly [number, number, number, RegExp])[] = [
      [0, 0x63, 73, /does not begin with "CairnSeg"/],
      [8, 2, 73, /it has format 2, and this release reads format 1/],
      [0, 0x43, 74, /does not match/],
    ];
    for (const [at, byte, used, message] of changes) {
      const bytes = new Uint8Array(BLOCK_BYTES);
      writeHeader(bytes, START);
      bytes[at] = byte;
      sealBlock(bytes, 0, used);
      expect(readHeader(bytes)).toMatch(message);
    }
  });
});

describe('the format page', () => {
  it('shows the bytes of a sealed segment', async () => {
    const { disk, histories } = new SegmentHistories();
    const first = { position: 0, revision: 1, chainHash: new Uint8Array(32).fill(0x11) };
    const segments = [{ ...first, totalEvents: 0, recordedTimeMs: 0 }, NEXT];
    const record = [1, 5, ...Buffer.from('hello')];
    const records = { position: 0, bytes: Uint8Array.from([...record, ...record]), segments };
    await histories.append(new Map([[toGroupId(77), records]]));
    await histories.sync();
    const bytes = disk.file(disk.files[0] ?? '');
    const places = [
      [0, 73],
      [BLOCK_DATA_BYTES, BLOCK_BYTES + 7],
      [BLOCK_BYTES + BLOCK_DATA_BYTES, 2 * BLOCK_BYTES + 108],
      [2 * BLOCK_BYTES + BLOCK_DATA_BYTES, 3 * BLOCK_BYTES],
    ] as const;
    const shown = places.map(([from, to]) => Buffer.from(bytes.subarray(from, to)));
    for (const [index, [, from]] of places.entries()) {
      expect(bytes.subarray(from, places[index + 1]?.[0]).every((byte) => byte === 0)).toBe(true);
    }
    expect([Buffer.concat(shown).toString('hex')]).toEqual(examplesOf('segments.md'));
  });
});

describe('names', () => {
  it('sort as positions do, and are read back', () => {
    const positions = [0, 255, 2 ** 32, Number.MAX_SAFE_INTEGER];
    const names = positions.map(segmentName);
    expect(names.toSorted()).toEqual(names);
    expect(segmentBases([...names.toReversed(), 'other', '00.segment', `${names[0]}.copy`])).toEqual(positions);
    expect([names[1], groupName(toGroupId(77))]).toEqual(['00000000000000ff.segment', '0000004d']);
  });
});
