// Goal: every row decodes to what was encoded, and any flipped bit in it is found (D1). Method: properties over random
// contents, then each single bit of the row in turn.
import { crc32 as nativeCrc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ByteReader,
  ByteWriter,
  DatabaseError,
  encodeUtf8,
  isDatabaseId,
  toLogIndex,
  toRevision,
  toTerm,
  uuidv7,
} from '#base';
import { NO_DEFINITIONS, NO_REFUSALS, readAppliedRow, writeApplied } from '../../../src/database/applied.ts';
import {
  CHUNK_ENTRIES,
  inlineEntries,
  readChunk,
  readHead,
  TIPS_MAX,
  tipStride,
  writeChunk,
  writeHead,
} from '../../../src/database/head.ts';
import { HEAD_KIND, type HeadName } from '../../../src/database/keys.ts';
import { Page, pushRecord, writePage, writeRecordTag } from '../../../src/database/page.ts';
import { PostingBlock, type PostingEntry, PostingPlace, writePosting } from '../../../src/database/posting.ts';
import * as small from '../../../src/database/small-rows.ts';

const KEY = Uint8Array.of(1, 2, 3);
const ENTRY: PostingEntry = { revision: 9, index: 0, pageOffset: 1, offset: 50, seconds: 7, nanos: 5 };
const u48 = fc.integer({ min: 0, max: 2 ** 48 });
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });

const times = fc.record({
  seconds: fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
  nanos: fc.oneof(
    fc.nat(999).map((ms) => ms * 1_000_000),
    fc.nat(999_999_999),
  ),
});

/** Entries in order of position, some in one transaction, some at one time. */
const entries = (maxLength: number): fc.Arbitrary<PostingEntry[]> =>
  fc
    .array(
      fc.record({
        step: fc.oneof(fc.constant(0), fc.nat(3), u48),
        index: fc.nat(9),
        offset: fc.nat(70_000),
        time: times,
      }),
      { maxLength },
    )
    .map((steps) => {
      const list: PostingEntry[] = [];
      for (const { step, index, offset, time } of steps) {
        const last = list.at(-1);
        if (last !== undefined && step === 0) {
          const at = index % 2 === 0 ? last : time;
          list.push({ ...last, index: last.index + 1 + index, offset: last.offset + 1 + offset, ...pick(at) });
        } else {
          const revision = (last?.revision ?? 0) + Math.max(1, step % 2 ** 40);
          list.push({ revision, index, pageOffset: Math.min(index, revision - 1), offset, ...pick(time) });
        }
      }
      return list;
    });

function pick({ seconds, nanos }: { readonly seconds: number; readonly nanos: number }): {
  readonly seconds: number;
  readonly nanos: number;
} {
  return { seconds, nanos };
}

function packed(list: readonly PostingEntry[]): Uint8Array {
  const writer = new ByteWriter();
  const last = new PostingPlace();
  for (const entry of list) writePosting(writer, last, entry);
  return writer.take();
}

function unpacked(block: PostingBlock | undefined): PostingEntry[] {
  return Array.from({ length: block?.count ?? 0 }, (_, place) => (block ?? PostingBlock.EMPTY).entry(place));
}

function written(write: (into: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter();
  write(writer);
  return writer.take();
}

/** Bits of the row that can be flipped without a CorruptRecord at the next read: there must be none. */
function unnoticedFlips(row: Uint8Array, read: (row: Uint8Array) => unknown): number[] {
  return Array.from({ length: row.length * 8 }, (_, bit) => bit).filter((bit) => {
    const flipped = row.slice();
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    try {
      read(flipped);
      return true;
    } catch (error) {
      return !(error instanceof DatabaseError && error.code === 'internal' && error.details.reason === 'CorruptRecord');
    }
  });
}

it('posting entries decode to what was encoded', () => {
  fc.assert(
    fc.property(entries(100), (list) => {
      const bytes = packed(list);
      expect(unpacked(PostingBlock.read(new ByteReader(bytes), list.length))).toEqual(list);
    }),
  );
});

it('posting entries are rejected when their count is wrong', () => {
  const bytes = packed([{ revision: 1, index: 0, pageOffset: 0, offset: 9, seconds: 1, nanos: 0 }]);
  for (const count of [2, 2 ** 40]) expect(PostingBlock.read(new ByteReader(bytes), count)).toBeUndefined();
});

const names: fc.Arbitrary<HeadName> = fc.oneof(
  fc.constant<HeadName>({ kind: HEAD_KIND.SUBJECT, term: undefined }),
  fc.constantFrom(...Object.values(HEAD_KIND)).map((kind) => ({ kind, term: encodeUtf8('a-term') })),
);

it('heads decode to what was encoded', () => {
  const numbers = fc.record({
    id: fc.nat(),
    first: u48,
    span: u48,
    without: u48,
    count: u48,
    spilled: fc.boolean(),
    tips: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat()), { maxLength: TIPS_MAX }),
  });
  fc.assert(
    fc.property(names, numbers, entries(CHUNK_ENTRIES), (name, content, list) => {
      const lastRevision = content.first + content.span;
      const stride = tipStride(name);
      const tips = content.tips.flatMap((tip) => tip.map((n) => n % (lastRevision + 1)).slice(0, stride));
      const isSubject = name.kind === HEAD_KIND.SUBJECT;
      const head = {
        name,
        id: isSubject ? 0 : content.id,
        firstRevision: content.first,
        lastRevision,
        lastWithoutSubject: isSubject ? 0 : content.without,
        count: content.count,
        spilled: content.spilled,
        tips: content.spilled ? [] : tips,
        inlineCount: list.length,
        inline: packed(list),
      };
      const row = written((into) => writeHead(into, head, head.inline));
      const read = readHead(name, KEY, row);
      expect(read).toEqual(head);
      expect(unpacked(inlineEntries(KEY, read))).toEqual(list);
    }),
  );
});

it('every flipped bit of heads and chunks is found (D1)', () => {
  const list = [1, 2, 3].map((revision) => ({ ...ENTRY, revision }));
  const name = { kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') };
  const inline = packed(list);
  const head = { name, id: 1, firstRevision: 1, lastRevision: 3, lastWithoutSubject: 2, count: 3 };
  const row = written((into) => writeHead(into, { ...head, spilled: false, tips: [1, 3, 2], inlineCount: 3 }, inline));
  expect(unnoticedFlips(row, (flipped) => readHead(name, KEY, flipped))).toEqual([]);
  const chunk = written((into) => writeChunk(into, 3, inline));
  expect(unpacked(readChunk(KEY, chunk))).toEqual(list);
  expect(unnoticedFlips(chunk, (flipped) => readChunk(KEY, flipped))).toEqual([]);
});

function flat(list: readonly PostingEntry[]): number[] {
  return list.flatMap(({ nanos, revision, index, offset }) => [nanos, revision, index, offset]);
}

it('small rows decode to what was encoded', () => {
  const place = fc.record({ revision: u48, pageOffset: fc.nat(), index: fc.nat(999), offset: fc.nat() });
  fc.assert(
    fc.property(u48, fc.nat(), fc.array(place), (a, b, places) => {
      const transaction = { revision: a, pageOffset: b };
      const transactionRow = written((into) => small.writeTransactionRow(into, transaction));
      expect(small.readTransactionRow(KEY, transactionRow)).toEqual(transaction);
      const tip = { lastRevision: a, lastWithoutSubject: b };
      const tipRow = written((into) => small.writeTipRow(into, tip));
      expect(small.readTipRow(KEY, tipRow)).toEqual(tip);
      const idRow = written((into) => small.writeEventIdRow(into, places));
      expect(small.readEventIdRow(KEY, idRow)).toEqual(places);
    }),
  );
});

it('small rows of the page directory find the page that begins at or before a position', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(255)), fc.nat(255), (starts, from) => {
      const bits = small.emptyDirectoryBits();
      for (const start of starts) small.setDirectoryBit(bits, 5 * 256 + start);
      const row = written((into) => small.writeDirectoryRow(into, bits));
      const read = small.readDirectoryRow(KEY, row);
      expect(small.lastDirectoryBit(read, from)).toBe(Math.max(-1, ...starts.filter((start) => start <= from)));
    }),
  );
});

it('every flipped bit of small rows is found (D1)', () => {
  const bits = new Uint8Array(32);
  const tip = { lastRevision: 300, lastWithoutSubject: 5 };
  const time = { seconds: 7, firstRevision: 8 };
  const rows: readonly (readonly [(into: ByteWriter) => void, (row: Uint8Array) => unknown])[] = [
    [(into) => small.writeTransactionRow(into, ENTRY), (row) => small.readTransactionRow(KEY, row)],
    [(into) => small.writeEventIdRow(into, [ENTRY]), (row) => small.readEventIdRow(KEY, row)],
    [(into) => small.writeTimeRow(into, 8, flat([ENTRY])), (row) => small.readTimeRow(KEY, row, time)],
    [(into) => small.writeTipRow(into, tip), (row) => small.readTipRow(KEY, row)],
    [(into) => small.writeDirectoryRow(into, bits), (row) => small.readDirectoryRow(KEY, row)],
  ];
  for (const [write, read] of rows) expect(unnoticedFlips(written(write), read)).toEqual([]);
});

describe('the applied row', () => {
  const id = fc
    .tuple(fc.nat(), fc.uint8Array({ minLength: 10, maxLength: 10 }))
    .map(([at, random]) => uuidv7(at, random))
    .filter(isDatabaseId);
  const applied = fc.record({
    databaseId: id,
    rootId: id,
    createdAtMs: u48,
    index: u48.map(toLogIndex),
    term: u48.map(toTerm),
    logStart: u48.map(toLogIndex),
    revision: u48.map(toRevision),
    chainHash: hash,
    group: fc.record({ index: u48.map(toLogIndex), membership: fc.uint8Array({ maxLength: 40 }) }),
    recordedTimeMs: u48,
    totalEvents: u48,
    nextStreamId: fc.nat(),
    nextTypeId: fc.nat(),
    nextSourceId: fc.nat(),
    definitions: fc.oneof(
      fc.constant(NO_DEFINITIONS),
      fc.record({ index: fc.integer({ min: 1, max: 2 ** 40 }).map(toLogIndex), chainHash: hash }),
    ),
    refusals: fc.oneof(
      fc.constant(NO_REFUSALS),
      fc.record({ number: fc.integer({ min: 1, max: 2 ** 40 }), index: fc.integer({ min: 1 }).map(toLogIndex) }),
    ),
  });

  it('decodes to what was encoded', () => {
    fc.assert(
      fc.property(applied, (content) => {
        const row = written((into) => writeApplied(into, content));
        expect(readAppliedRow(KEY, row)).toEqual(content);
      }),
    );
  });

  it('is rejected with any flipped bit (D1)', () => {
    const [content] = fc.sample(applied, { numRuns: 1, seed: 1 });
    const row = written((into) => content !== undefined && writeApplied(into, content));
    expect(row.length).toBeGreaterThan(100);
    expect(unnoticedFlips(row, (flipped) => readAppliedRow(KEY, flipped))).toEqual([]);
  });
});

describe('pages', () => {
  /** A page of these transactions. Their records are opaque here and repeat one byte each. */
  function makePage(sizes: readonly number[]): { readonly value: Uint8Array; readonly body: Uint8Array } {
    const last = { index: toLogIndex(0), term: toTerm(0) };
    const outline = { firstRevision: 100, eventsBefore: 7, numbers: [], last };
    const body = new ByteWriter();
    for (const [place, size] of sizes.entries()) {
      const byteLength = writeRecordTag(body, size);
      body.bytes(new Uint8Array(size).fill(place + 1));
      pushRecord(outline, {
        byteLength,
        eventCount: place * 2,
        hasStoredIds: place % 2 === 1,
        recordedTimeMs: 5000 + place,
        place: { index: toLogIndex(1000 + place), term: toTerm(3) },
      });
    }
    const bytes = body.take();
    return { value: written((into) => writePage(into, outline, bytes, nativeCrc32)), body: bytes };
  }

  it('return their transactions by revision, for any sizes', () => {
    const sizes = fc.array(fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 129, 16_383, 16_384)), {
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(sizes, (list) => {
        const { value, body } = makePage(list);
        const page = new Page(KEY, value, nativeCrc32);
        expect([page.firstRevision, page.lastRevision, page.count]).toEqual([100, 99 + list.length, list.length]);
        expect(page.last).toEqual({ index: 999 + list.length, term: 3 });
        expect(page.body()).toEqual(body);
        let totalEvents = 7;
        for (const [place, size] of list.entries()) {
          totalEvents += place * 2;
          const record = page.record(100 + place);
          expect(page.records()[place]).toEqual(record);
          expect(record).toMatchObject({ revision: 100 + place, recordedTimeMs: 5000 + place, totalEvents });
          expect(record).toMatchObject({ eventCount: place * 2, hasStoredIds: place % 2 === 1 });
          expect(page.slice(record.start, record.end)).toEqual(new Uint8Array(size).fill(place + 1));
        }
        expect(() => page.record(100 + list.length)).toThrow('does not hold revision');
      }),
    );
  });

  it('are rejected with any flipped bit when the body is read (D1)', () => {
    const { value } = makePage([20, 30]);
    expect(unnoticedFlips(value, (flipped) => new Page(KEY, flipped, nativeCrc32).body())).toEqual([]);
  });

  it('verify only the blocks of a slice (D1)', () => {
    const { value } = makePage([20_000]);
    const start = value.length - 20_000;
    value[start + 9000] = 0xee;
    const page = new Page(KEY, value, nativeCrc32);
    expect(page.slice(0, 4000)).toHaveLength(4000);
    expect(page.slice(12_400, 20_000)).toHaveLength(7600);
    expect(() => page.slice(4000, 8200)).toThrow('checksum of block 2');
    expect(() => page.body()).toThrow('checksum of block 2');
  });
});
