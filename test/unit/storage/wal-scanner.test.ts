// Goal: damage to a segment is never accepted, and only the effects of a crash count as torn (W2, W3, W4). Method: one
// full segment of 64 KiB, in a file that was another segment before; its bits flipped, cut at offsets, with the old
// content after an offset, and with that of every subset of the sectors of its last batch. A full run uses each bit and
// offset, a commit every 31st.
//
// The scan only moves forward, so a flip in one batch is scanned from that batch on. Every 997th flip is scanned from
// the beginning of the segment as well, with the same result.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toGroupId, toLogIndex, toTerm } from '#base';
import { membershipOf, toReplicaId } from '#raft';
import { StorageFailure, Wal } from '#storage';
import type { LogRecord } from '../../../src/storage/log-records.ts';
import { filledEnd } from '../../../src/storage/sectors.ts';
import {
  BATCH_HEADER_BYTES,
  decodeSegmentHeader,
  type LogEnd,
  SECTOR_BYTES,
  SECTOR_CONTENT_BYTES,
} from '../../../src/storage/wal-format.ts';
import {
  type BatchRecords,
  type SegmentContext,
  type SegmentEnd,
  scanBatches,
  segmentBytes,
} from '../../../src/storage/wal-scanner.ts';
import { encode, RecordSource, seededDraw } from '../../support/log-model.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';
import { IS_LONG } from '../../support/runs.ts';
import { checkpoint, entries, IDENTITY, segments, vote } from '../../support/small-log.ts';

const SEGMENT_BYTES = 64 * 1024;
const NUMBER = 3;
const PATH = 'wal/000000000003.wal';
const MEMBERSHIP = membershipOf([1, 2, 3].map(toReplicaId));
/** Groups beside those of `RecordSource`. */
const OTHER_GROUPS = 2 ** 20;

/** `old` is what the file contained as segment 1. */
const { disk, old } = fullSegment();
const original = disk.file(PATH).slice();
const FIRST: LogEnd = { ...previousOf(original), offset: SECTOR_BYTES };
/** Positions before each batch. The last one is the end of the log. */
const cursors: readonly LogEnd[] = [FIRST, ...endsOf(original)];
const end = cursors.at(-1) ?? FIRST;
const lastBatch = cursors.at(-2) ?? FIRST;

/** External knowledge: the guard is as old as possible, or exact. */
const STALE: SegmentContext = { isLast: true, syncedThrough: 0, firstSeq: FIRST.seq + 1, number: NUMBER };
const EXACT: SegmentContext = { ...STALE, syncedThrough: end.seq };
const FOLLOWED: SegmentContext = { ...STALE, isLast: false };

const STRIDE = IS_LONG ? 1 : 31;
const scratch = new Uint8Array(SEGMENT_BYTES);

describe('a segment of 64 KiB', { timeout: 120_000 }, () => {
  it('is scanned to its end, and has the properties that the tests below need', () => {
    expect(scan(original, FIRST, EXACT)).toEqual({ last: end, end: { kind: 'clean' } });
    expect(cursors.length).toBeGreaterThan(15);
    expect(end.offset).toBeGreaterThan(SEGMENT_BYTES * 0.9);
    expect(end.offset).toBeLessThan(SEGMENT_BYTES - 4 * SECTOR_BYTES);
    expect((end.offset - lastBatch.offset) / SECTOR_BYTES).toBeGreaterThan(5);
    // Old batches, in the sectors after the end and behind those of the last batch.
    expect(Buffer.from(original.subarray(end.offset)).includes('CBAT')).toBe(true);
    expect(Buffer.from(old.subarray(lastBatch.offset, end.offset)).includes('CBAT')).toBe(true);
  });

  it('is rejected with any flipped bit in its header (W2)', () => {
    const accepted = bits(0, SECTOR_BYTES).filter((bit) => {
      const bytes = original.slice(0, SECTOR_BYTES);
      flip(bytes, bit);
      return typeof decodeSegmentHeader(bytes) !== 'string';
    });
    expect(accepted).toEqual([]);
  });

  it('is corrupt with any flipped bit in its batches (W2, W4)', () => {
    const bytes = original.slice();
    const wrong = bits(SECTOR_BYTES, end.offset).filter((bit) => {
      const cursor = cursorAt(bit >> 3);
      flip(bytes, bit);
      const verdicts = [scan(bytes, cursor, STALE)];
      if (bit % 997 === 0) verdicts.push(scan(bytes, FIRST, STALE), scan(bytes, FIRST, EXACT));
      flip(bytes, bit);
      return verdicts.some(({ last, end: verdict }) => verdict.kind !== 'corrupt' || last.seq !== cursor.seq);
    });
    expect(wrong).toEqual([]);
  });

  it('ends with its last batch with any flipped bit after it, and is torn or corrupt if that is in a tag (W4)', () => {
    const bytes = original.slice();
    const wrong = bits(end.offset, SEGMENT_BYTES).filter((bit) => {
      flip(bytes, bit);
      const asLast = scan(bytes, end, EXACT);
      const followed = scan(bytes, end, FOLLOWED);
      flip(bytes, bit);
      if (asLast.last !== end) return true;
      const isInTag = (bit >> 3) % SECTOR_BYTES >= SECTOR_CONTENT_BYTES;
      if (!isInTag) return asLast.end.kind !== 'clean' || followed.end.kind !== 'clean';
      // The sector in which a batch would begin is not lost, so no crash can have left this; later sectors can be.
      const expected = bit < 8 * (end.offset + SECTOR_BYTES) ? 'corrupt' : 'torn';
      return asLast.end.kind !== expected || followed.end.kind !== 'corrupt';
    });
    expect(wrong).toEqual([]);
  });

  it('is rejected when it was cut at any offset (W9)', () => {
    const damaged = disk.afterProcessDeath();
    const accepted: number[] = [];
    for (let size = 0; size < SEGMENT_BYTES; size += STRIDE) {
      damaged.resize(PATH, size);
      damaged.file(PATH).set(original.subarray(0, size));
      const failure = openFailure(damaged);
      if (failure?.kind !== 'corrupt' || failure.path !== PATH) accepted.push(size);
    }
    expect(accepted).toEqual([]);
  });

  it('ends with the last complete batch when nothing after an offset reached the disk (W4)', () => {
    const bytes = original.slice();
    const wrong: string[] = [];
    for (let from = end.offset - 1; from >= SECTOR_BYTES; from--) {
      bytes[from] = old[from] ?? 0;
      // The numbers of both segments differ in the first byte of the tag.
      if (from % SECTOR_BYTES > SECTOR_CONTENT_BYTES || (from % STRIDE > 0 && from % SECTOR_BYTES > 0)) continue;
      const cursor = cursorAt(from);
      const { last, end: verdict } = scan(bytes, cursor, STALE);
      const isAsExpected = verdict.kind === expectedWithout(from, cursor);
      if (last !== cursor || !isAsExpected) wrong.push(`${from}: ${verdict.kind} after batch ${last.seq}`);
      if (scan(bytes, cursor, EXACT).end.kind !== 'corrupt') wrong.push(`${from} in spite of the guard`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('the last batch of a segment', () => {
  it('is torn when any of its sectors were lost, for any order of their writes (W4)', () => {
    const everySector = 2 ** ((end.offset - lastBatch.offset) / SECTOR_BYTES) - 1;
    const wrong: string[] = [];
    for (let lost = 1; lost < everySector; lost++) {
      const bytes = withoutSectors(lost);
      const verdicts = [STALE, EXACT, FOLLOWED].map((context) => scan(bytes, lastBatch, context).end.kind);
      if (verdicts.join(' ') !== 'torn corrupt corrupt') wrong.push(`${lost.toString(2)}: ${verdicts.join(' ')}`);
    }
    expect(wrong).toEqual([]);
    expect(scan(withoutSectors(everySector), lastBatch, STALE).end.kind).toBe('clean');
    expect(scan(withoutSectors(everySector), lastBatch, EXACT).end.kind).toBe('corrupt');
  });

  it('is corrupt when a sector was lost and a record outside it is wrong (W4)', () => {
    const bytes = withoutSectors(1 << ((end.offset - lastBatch.offset) / SECTOR_BYTES - 1));
    const firstPayload = lastBatch.offset + BATCH_HEADER_BYTES + 36;
    bytes[firstPayload] = (bytes[firstPayload] ?? 0) ^ 1;
    expect(scan(bytes, lastBatch, STALE).end).toMatchObject({ kind: 'corrupt', found: /touches no lost sector/ });
  });

  it('is corrupt when bytes follow it, even if it lost a sector (W4)', () => {
    const bytes = withoutSectors(2);
    const tag = lastBatch.offset + SECTOR_CONTENT_BYTES;
    bytes.copyWithin(end.offset + 2 * SECTOR_BYTES + SECTOR_CONTENT_BYTES, tag, tag + 4);
    expect(scan(bytes, lastBatch, STALE).end).toMatchObject({ kind: 'corrupt', found: /bytes stand behind it/ });
  });

  it('is corrupt when a complete batch follows the lost sector in which it began (W4)', () => {
    const bytes = original.slice();
    const before = cursors.at(-3) ?? FIRST;
    bytes.set(old.subarray(before.offset, before.offset + SECTOR_BYTES), before.offset);
    expect(scan(bytes, before, STALE).end).toMatchObject({ kind: 'corrupt', found: /another batch stands behind it/ });
  });
});

it.each([
  ['an earlier one is repeated in its place', 3, 5],
  ['a later one is in its place', 6, 4],
])('a batch is corrupt when %s (W3)', (_name, from, to) => {
  const bytes = original.slice();
  const source = cursors[from] ?? FIRST;
  const target = cursors[to] ?? FIRST;
  bytes.copyWithin(target.offset, source.offset, cursors[from + 1]?.offset);
  expect(scan(bytes, FIRST, STALE)).toMatchObject({ last: target, end: { kind: 'corrupt', offset: target.offset } });
});

it('a batch is corrupt when it continues another log than the previous batch (W3)', () => {
  const other = fullSegment(99).disk.file(PATH);
  const bytes = original.slice();
  const fourth = cursors[3] ?? FIRST;
  bytes.set(other.subarray(fourth.offset), fourth.offset);
  expect(scan(bytes, FIRST, STALE).end.kind).toBe('corrupt');
  expect(scan(bytes, FIRST, STALE).last.seq).toBe(FIRST.seq + 3);
});

it('a batch is corrupt when two of its records, each of them valid, are swapped (W2)', () => {
  const made = new MemoryDisk();
  const { wal } = Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk: made });
  const term = toTerm(1);
  const records = [1, 2].map((group) => {
    return { kind: 'hard-state', group: toGroupId(group), hardState: { term, vote: group } } as const;
  });
  wal.append([encode(records)]);
  const bytes = made.file('wal/000000000001.wal').slice();
  const found: BatchRecords[] = [];
  const first = { seq: 0, crc: 0, offset: SECTOR_BYTES };
  const context = { isLast: true, syncedThrough: 0, firstSeq: 1, number: 1 };
  scanBatches(segmentBytes(bytes.slice()), first, context, (batch) => void found.push(batch.records));
  // Both are in one sector.
  const { from = 0, to = 0 } = found.at(-1) ?? {};
  const middle = (from + to) / 2;
  const second = bytes.slice(middle, to);
  bytes.copyWithin(middle, from, middle);
  bytes.set(second, from);
  expect(scan(bytes, first, context).end).toMatchObject({
    kind: 'corrupt',
    found: /records that are not those of batch/,
  });
});

/** Result when all bytes from `from` on are old. The tag is at the end, so all of its sector is then old. */
function expectedWithout(from: number, cursor: LogEnd): SegmentEnd['kind'] {
  if (cursor === FIRST) return 'corrupt';
  return from < cursor.offset + SECTOR_BYTES ? 'clean' : 'torn';
}

/** A segment that is almost full of batches of all sizes, some with zeros in them. Its file was segment 1. */
function fullSegment(seed = 42): { readonly disk: MemoryDisk; readonly old: Uint8Array } {
  const draw = seededDraw(seed);
  const made = new MemoryDisk();
  const { wal } = Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk: made });
  wal.append([vote()]);
  let index = 0;
  const fillUntil = (segment: number): void => {
    while (segments(made).at(-1) !== segment) wal.append([entries(++index, 1, 600)]);
  };
  fillUntil(2);
  const first = made.file('wal/000000000001.wal').slice();
  wal.append([checkpoint(index)]);
  wal.tidy();
  fillUntil(NUMBER);
  const source = new RecordSource(draw, { groups: 3, payloadBytesMax: 1200, firstGroup: OTHER_GROUPS });
  const view = new DataView(made.file(PATH).buffer);
  const isFilled = (): boolean => filledEnd(view, SECTOR_BYTES, SEGMENT_BYTES, NUMBER) > SEGMENT_BYTES * 0.86;
  while (!isFilled()) wal.append([encode(source.batch(1 + draw(8)))]);
  wal.append([encode(lastRecords(draw))]);
  return { disk: made, old: first };
}

function previousOf(segment: Uint8Array): LogEnd {
  const header = decodeSegmentHeader(segment);
  if (typeof header === 'string') throw new Error(header);
  return header.previous;
}

/** The records of the last batch. It has a few sectors with text, zeros, and a membership. */
function lastRecords(draw: (below: number) => number): readonly LogRecord[] {
  const group = toGroupId(2 * OTHER_GROUPS);
  const term = toTerm(1);
  const text = Uint8Array.from({ length: 1500 }, () => 32 + draw(90));
  return [
    { kind: 'hard-state', group, hardState: { term, vote: 1 } },
    { kind: 'entry', group, level: 1, term, index: toLogIndex(1), payload: text },
    { kind: 'entry', group, level: 1, term, index: toLogIndex(2), payload: new Uint8Array(1300) },
    { kind: 'entry', group, level: 1, term, index: toLogIndex(3), payload: NO_BYTES, membership: MEMBERSHIP },
  ];
}

function withoutSectors(lost: number): Uint8Array {
  const bytes = original.slice();
  for (let place = 0; lastBatch.offset + place * SECTOR_BYTES < end.offset; place++) {
    const at = lastBatch.offset + place * SECTOR_BYTES;
    if ((lost & (1 << place)) !== 0) bytes.set(old.subarray(at, at + SECTOR_BYTES), at);
  }
  return bytes;
}

/** Scans a copy. */
function scan(
  bytes: Uint8Array,
  from: LogEnd,
  context: SegmentContext,
): { readonly last: LogEnd; readonly end: SegmentEnd } {
  scratch.set(bytes);
  return scanBatches(segmentBytes(scratch), from, context, () => undefined);
}

function endsOf(bytes: Uint8Array): readonly LogEnd[] {
  const ends: LogEnd[] = [];
  const context = { isLast: true, syncedThrough: 0, firstSeq: FIRST.seq + 1, number: NUMBER };
  scanBatches(segmentBytes(bytes.slice()), FIRST, context, (batch) => {
    ends.push(batch.end);
    return undefined;
  });
  return ends;
}

function cursorAt(offset: number): LogEnd {
  return cursors.findLast((cursor) => cursor.offset <= offset) ?? FIRST;
}

function openFailure(damaged: MemoryDisk): StorageFailure | undefined {
  try {
    Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk: damaged });
    return undefined;
  } catch (error) {
    if (error instanceof StorageFailure) return error;
    throw error;
  }
}

function flip(bytes: Uint8Array, bit: number): void {
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
}

function bits(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.ceil((8 * (to - from)) / STRIDE) }, (_, place) => 8 * from + STRIDE * place);
}
