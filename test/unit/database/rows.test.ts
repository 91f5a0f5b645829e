// Goal: every row decodes to what was encoded, and any flipped bit in it is found (D1). Method: properties over random
// contents, then each single bit of the row in turn.
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
import { RECORD } from '#kv';
import { encodeTransactPayload, NO_OPTIONS, readTransactPayload, type StoredEventId, stampPayload } from '#model';
import { readAppliedRow, writeApplied } from '../../../src/database/applied.ts';
import {
  CHUNK_ENTRIES,
  inlineEntries,
  readChunk,
  readHead,
  readTimeRow,
  startOfTimes,
  TIPS_MAX,
  tipStride,
  writeChunk,
  writeHead,
} from '../../../src/database/head.ts';
import { GROUP_PREFIX_BYTES, HEAD_KIND, type HeadName } from '../../../src/database/keys.ts';
import { LiveHead } from '../../../src/database/live-head.ts';
import { extraOf, PostingBlock, type PostingEntry, PostingPlace, writePosting } from '../../../src/database/posting.ts';
import {
  type ControlToWrite,
  type RecordToWrite,
  readControlHead,
  readRecord,
  readRecordHead,
  readRecords,
  readTransaction,
  recordLength,
  skipRecords,
  writeControl,
  writeRecord,
} from '../../../src/database/record.ts';
import * as small from '../../../src/database/small-rows.ts';
import { valueOf } from '../../support/database-rows.ts';
import { eventBytes } from '../../support/events.ts';

/** The key of a row of group 7. */
const KEY = Uint8Array.of(1, 0, 0, 0, 7, 2, 5, 9);
const OWN_TIME = { recordedTimeMs: 9000, hasStoredId: true };
const ENTRY: PostingEntry = { revision: 9, index: 0, position: 50, seconds: 7, nanos: 5, ...OWN_TIME };
const HEAD = { id: 0, firstRevision: 1, lastRevision: 9, lastWithoutSubject: 0, count: 99, spilled: false, tips: [] };
const u48 = fc.integer({ min: 0, max: 2 ** 48 });
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });

const times = fc.record({
  seconds: fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
  nanos: fc.oneof(
    fc.nat(999).map((ms) => ms * 1_000_000),
    fc.nat(999_999_999),
  ),
});

/** Entries in order of position, some in one transaction, some at one time, some recorded at their time. */
const entries = (maxLength: number): fc.Arbitrary<PostingEntry[]> =>
  fc
    .array(
      fc.record({
        step: fc.oneof(fc.constant(0), fc.nat(3), u48),
        index: fc.nat(9),
        distance: fc.oneof(fc.nat(70_000), u48),
        time: times,
        recordedTimeMs: fc.option(u48),
        hasStoredId: fc.boolean(),
      }),
      { maxLength },
    )
    .map((steps) => {
      const list: PostingEntry[] = [];
      for (const { step, index, distance, time, recordedTimeMs, hasStoredId } of steps) {
        const last = list.at(-1);
        const isSame = last !== undefined && step === 0;
        const revision = (last?.revision ?? 0) + (isSame ? 0 : Math.max(1, step % 2 ** 40));
        const { seconds, nanos } = isSame && index % 2 === 0 ? last : time;
        list.push({
          revision,
          index: isSame ? last.index + 1 + index : index,
          position: (last?.position ?? 0) + 1 + (distance % 2 ** 40),
          seconds,
          nanos,
          recordedTimeMs: recordedTimeMs ?? seconds * 1000 + Math.floor(nanos / 1_000_000),
          hasStoredId,
        });
      }
      return list;
    });

function packed(list: readonly PostingEntry[], last: PostingPlace = new PostingPlace()): Uint8Array {
  const writer = new ByteWriter();
  for (const { recordedTimeMs, hasStoredId, ...place } of list) {
    const extra = extraOf({ ...place, storedId: hasStoredId ? 'other' : undefined }, recordedTimeMs);
    writePosting(writer, last, { ...place, extra });
  }
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

/** The value of the row with the key. */
function rowOf(write: (into: ByteWriter) => void): Uint8Array {
  return valueOf(KEY, write);
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

it('posting entries of an event without a time of its own, in the next revision, have 4 bytes and its time', () => {
  const first = { ...ENTRY, seconds: 9, nanos: 0, hasStoredId: false };
  const next = { ...first, revision: 10, position: 150, nanos: 120_000_000, recordedTimeMs: 9120 };
  expect(packed([first, next]).length - packed([first]).length).toBe(3 + 2);
});

it('posting entries are rejected when their count is wrong', () => {
  const bytes = packed([ENTRY]);
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
      const row = rowOf((into) => {
        writeHead(into, head);
        into.bytes(head.inline);
      });
      const read = readHead(name, KEY, row);
      expect(read).toEqual(head);
      expect(unpacked(inlineEntries(KEY, read))).toEqual(list);
    }),
  );
});

it("a writer's head that is read from its row continues its list", () => {
  const name = { kind: HEAD_KIND.SUBJECT, term: encodeUtf8('s-1') };
  fc.assert(
    fc.property(fc.tuple(entries(CHUNK_ENTRIES), entries(1)), ([list, more]) => {
      fc.pre(list.length > 0);
      const [last] = list.slice(-1);
      const all = [
        ...list,
        ...more.map((next) => ({ ...next, revision: (last?.revision ?? 0) + 1, position: 2 ** 51 })),
      ];
      const content = { ...HEAD, name, inlineCount: list.length, inline: packed(list) };
      expect(() => LiveHead.from({ ...content, inlineCount: list.length + 1 }, KEY)).toThrow('does not hold');
      expect(() => LiveHead.from({ ...content, inlineCount: list.length - 1 }, KEY)).toThrow('bytes follow');
      const head = LiveHead.from(content, KEY);
      for (const { recordedTimeMs, hasStoredId, ...place } of all.slice(list.length)) {
        const extra = extraOf({ ...place, storedId: hasStoredId ? 'other' : undefined }, recordedTimeMs);
        if (head.inlineCount < CHUNK_ENTRIES) head.append({ ...place, extra }, true);
      }
      const inline = written((into) => head.writeInline(into, new PostingPlace()));
      expect(inline).toEqual(packed(all.slice(0, head.inlineCount)));
    }),
  );
});

it('every flipped bit of heads and chunks is found (D1)', () => {
  const list = [1, 2, 3].map((revision) => ({ ...ENTRY, revision }));
  const name = { kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') };
  const inline = packed(list);
  const head = { name, id: 1, firstRevision: 1, lastRevision: 3, lastWithoutSubject: 2, count: 3 };
  const row = rowOf((into) => {
    writeHead(into, { ...head, spilled: false, tips: [1, 3, 2], inlineCount: 3 });
    into.bytes(inline);
  });
  expect(unnoticedFlips(row, (flipped) => readHead(name, KEY, flipped))).toEqual([]);
  const chunk = rowOf((into) => writeChunk(into, 3, inline));
  expect(unpacked(readChunk(KEY, chunk))).toEqual(list);
  expect(unnoticedFlips(chunk, (flipped) => readChunk(KEY, flipped))).toEqual([]);
});

it('rows of effective times give the entries of a second by time, then position', () => {
  const place = { seconds: 7, firstRevision: 8 };
  fc.assert(
    fc.property(entries(50), (list) => {
      const inSecond = list.map((entry) => ({ ...entry, revision: entry.revision + 8, seconds: 7 }));
      const bytes = packed(inSecond, startOfTimes(place));
      const row = rowOf((into) => writeChunk(into, inSecond.length, bytes));
      expect(readTimeRow(KEY, row, place)).toEqual(inSecond.toSorted((left, right) => left.nanos - right.nanos));
    }),
  );
});

it('small rows decode to what was encoded', () => {
  const place = fc.record({ revision: u48, index: fc.nat(999), position: u48 });
  fc.assert(
    fc.property(u48, fc.nat(), fc.array(place), (a, b, places) => {
      const numberRow = rowOf((into) => small.writeNumberRow(into, a));
      expect(small.readNumberRow(KEY, numberRow)).toBe(a);
      const tip = { lastRevision: a, lastWithoutSubject: b };
      const tipRow = rowOf((into) => small.writeTipRow(into, tip));
      expect(small.readTipRow(KEY, tipRow)).toEqual(tip);
      const idRow = rowOf((into) => small.writeEventIdRow(into, places));
      expect(small.readEventIdRow(KEY, idRow)).toEqual(places);
    }),
  );
});

it('every flipped bit of small rows is found (D1)', () => {
  const tip = { lastRevision: 300, lastWithoutSubject: 5 };
  const time = { seconds: 7, firstRevision: 8 };
  const rows: readonly (readonly [(into: ByteWriter) => void, (row: Uint8Array) => unknown])[] = [
    [(into) => small.writeNumberRow(into, 300), (row) => small.readNumberRow(KEY, row)],
    [(into) => small.writeEventIdRow(into, [ENTRY]), (row) => small.readEventIdRow(KEY, row)],
    [(into) => writeChunk(into, 1, packed([ENTRY], startOfTimes(time))), (row) => readTimeRow(KEY, row, time)],
    [(into) => small.writeTipRow(into, tip), (row) => small.readTipRow(KEY, row)],
  ];
  for (const [write, read] of rows) expect(unnoticedFlips(rowOf(write), read)).toEqual([]);
});

it('a row is corrupt under another key of its database, and not under that of a copy in another group (D1, D19)', () => {
  const row = rowOf((into) => small.writeNumberRow(into, 300));
  for (let bit = 8 * GROUP_PREFIX_BYTES; bit < 8 * KEY.length; bit++) {
    const other = KEY.slice();
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => small.readNumberRow(other, row)).toThrow('is corrupt: its checksum');
  }
  expect(small.readNumberRow(KEY.with(4, 8), row)).toBe(300);
});

describe('the applied row', () => {
  const id = fc
    .tuple(fc.nat(), fc.uint8Array({ minLength: 10, maxLength: 10 }))
    .map(([at, random]) => uuidv7(at, { bytes: () => random }))
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
    end: u48,
    segmentStart: u48,
    nextStreamId: fc.nat(),
    nextTypeId: fc.nat(),
    nextSourceId: fc.nat(),
    definitions: fc.nat(),
    control: fc.option(fc.record({ position: u48, hash }), { nil: undefined }),
  });

  it('decodes to what was encoded', () => {
    fc.assert(
      fc.property(applied, (content) => {
        const row = rowOf((into) => writeApplied(into, content));
        expect(readAppliedRow(KEY, row)).toEqual(content);
      }),
    );
  });

  it('of an older format is refused', () => {
    const row = rowOf((into) => {
      into.u8(7);
      into.bytes(new Uint8Array(90));
    });
    const refusal = 'its format is 7, of an earlier release; this release reads format 9';
    expect(() => readAppliedRow(KEY, row)).toThrow(refusal);
  });

  it('is rejected with any flipped bit (D1)', () => {
    const [content] = fc.sample(applied, { numRuns: 1, seed: 1 });
    const row = rowOf((into) => content !== undefined && writeApplied(into, content));
    expect(row.length).toBeGreaterThan(100);
    expect(unnoticedFlips(row, (flipped) => readAppliedRow(KEY, flipped))).toEqual([]);
  });
});

describe('records', () => {
  /** A record of a body of so many bytes. Its stored ids are not those of any event. */
  function recordOf(revision: number, bodyBytes: number, storedIds: readonly StoredEventId[]): RecordToWrite {
    const transactionId = new Uint8Array(16).fill(revision % 256);
    const events = [eventBytes({ data: new Uint8Array(bodyBytes) }), eventBytes({})];
    const payload = encodeTransactPayload({ transactionId, origin: 0, options: NO_OPTIONS, constraints: [], events });
    stampPayload(payload, 5000 + revision);
    const { body } = readTransactPayload(payload);
    return {
      revision,
      chainHash: new Uint8Array(32).fill(9),
      storedIds,
      totalEvents: 2 * revision,
      body: payload.subarray(body.start, body.end),
      place: { index: toLogIndex(1000 + revision), term: toTerm(3) },
    };
  }

  const contents = fc.array(
    fc.record({
      bodyBytes: fc.oneof(fc.nat(300), fc.constantFrom(16_000, 17_000)),
      storedIds: fc.array(fc.record({ index: fc.nat(300), id: fc.string({ maxLength: 99 }) }), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 9 },
  );

  it('decode to what was encoded, one behind the other, wherever the reading begins', () => {
    fc.assert(
      fc.property(contents, fc.nat(2 ** 40), (list, base) => {
        const records = list.map(({ bodyBytes, storedIds }, place) => recordOf(place + 1, bodyBytes, storedIds));
        const [scratch, starts] = [new ByteWriter(), [] as number[]];
        const bytes = written((into) => {
          for (const record of records) {
            starts.push(into.length);
            expect(writeRecord(into, scratch, record) + record.body.length).toBe(into.length);
          }
        });
        for (const [place, { body, ...head }] of records.entries()) {
          const [start = 0, end = bytes.length] = starts.slice(place);
          const read = readTransaction(bytes, start, base);
          if (typeof read !== 'object') throw new Error(read);
          expect(read).toMatchObject({ ...head, recordedTimeMs: 5001 + place, eventCount: 2, end: base + end });
          expect(read.bytes.subarray(read.view.body.start, read.view.body.end)).toEqual(body);
          expect(read.bytes).toEqual(bytes.subarray(read.position - base, read.end - base));
          expect(recordLength(bytes, start)).toBe(end - start);
          expect(readRecordHead(bytes, start, base)).toMatchObject({ ...head, end: base + end });
        }
      }),
    );
  });

  it('are read again with more bytes when the bytes end in them', () => {
    const record = recordOf(7, 200, [{ index: 1, id: 'other' }]);
    const bytes = written((into) => void writeRecord(into, new ByteWriter(), record));
    const headEnd = bytes.length - record.body.length + 9;
    for (let length = 0; length < bytes.length; length++) {
      const some = bytes.subarray(0, length);
      expect(readRecord(some, 0, 0), `${length} bytes`).toBeUndefined();
      const head = readRecordHead(some, 0, 0);
      expect(head === undefined, `the head of ${length} bytes`).toBe(length < headEnd);
    }
  });

  it('of another kind or another place in the log are refused', () => {
    const bytes = written((into) => void writeRecord(into, new ByteWriter(), recordOf(7, 20, [])));
    expect(readRecord(bytes.with(0, 4), 0, 0)).toBe('kind 4 is unknown here, 1 to 3 would be known');
    expect(readRecord(bytes.with(7, 0xff), 0, 0)).toBe('it holds no logged transaction');
  });

  const control = fc.record<ControlToWrite>({
    kind: fc.constantFrom(RECORD.DEFINITION, RECORD.REFUSAL),
    place: fc.record({ index: u48.map(toLogIndex), term: u48.map(toTerm) }),
    revision: u48.map(toRevision),
    hash,
    payload: fc.uint8Array({ minLength: 13, maxLength: 600 }),
  });

  it('of definitions and refusals decode to what was encoded, and are no transactions', () => {
    fc.assert(
      fc.property(fc.array(control, { minLength: 1, maxLength: 4 }), fc.nat(2 ** 40), (list, base) => {
        const bytes = written((into) => {
          for (const each of list) writeControl(into, new ByteWriter(), each);
        });
        const [first] = list;
        expect(readRecords(bytes, base)).toMatchObject(list);
        expect(readRecords(bytes.subarray(0, -1), base) ?? []).toMatchObject(list.slice(0, -1));
        for (const some of [bytes, bytes.subarray(0, -1)]) {
          const last = readRecords(some, base)?.at(-1);
          expect(skipRecords(some, base)).toEqual(
            typeof last === 'object' ? { end: last.end, place: last.place } : undefined,
          );
        }
        expect(readRecordHead(bytes, 0, base)).toBe('it holds no logged transaction');
        // Bytes of the part of a component may be missing.
        const isPart = first?.kind === RECORD.DEFINITION && first.payload[1] === 2;
        const cut = bytes.subarray(0, (recordLength(bytes, 0) ?? 0) - 1);
        expect(typeof readControlHead(cut, 0, base)).toBe(isPart && cut.length > 180 ? 'object' : 'undefined');
        expect(readControlHead(bytes, 0, base)).toMatchObject(first ?? {});
        for (const length of [1, 8, 20, 45])
          expect(readControlHead(bytes.subarray(0, length), 0, base)).toBeUndefined();
      }),
    );
  });
});
