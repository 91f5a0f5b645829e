// Goal: records decode to the values that were encoded, their bytes follow docs/formats/wal.md, and malformed bytes are
// rejected (W1). Method: one example of each type, random records, and records with one wrong field.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { membershipOf, toReplicaId } from '#raft';
import { PAYLOAD_BYTES_MAX, RecordWriter } from '#storage';
import { decodeRecord, type LogRecord, RECORD_HEADER_BYTES, RECORD_OFFSET } from '../../../src/storage/log-records.ts';
import { encode } from '../../support/log-model.ts';

const group = toGroupId(7);
const hardState = { term: toTerm(3), vote: 9 };
const checkpoint = {
  index: toLogIndex(41),
  term: toTerm(2),
  revision: toRevision(40),
  logStart: toLogIndex(30),
  group: { index: toLogIndex(2 ** 50), membership: Uint8Array.of(1, 2, 3, 0, 0, 0) },
  history: { end: 2 ** 50 + 7, crc: 0xfedcba98 },
};
const payload = Uint8Array.of(1, 2, 3);

const entry = { kind: 'entry', group, level: 1 } as const;
const MEMBERSHIP = membershipOf([toReplicaId(2), toReplicaId(2 ** 53 - 1)], [toReplicaId(1)]);

const EXAMPLES: readonly LogRecord[] = [
  { kind: 'entry', group, level: 1, term: toTerm(3), index: toLogIndex(42), payload },
  { kind: 'entry', group, level: 255, term: toTerm(3), index: toLogIndex(43), payload: new Uint8Array(0) },
  { ...entry, term: toTerm(3), index: toLogIndex(44), payload: NO_BYTES, membership: MEMBERSHIP },
  { kind: 'hard-state', group, hardState },
  { kind: 'truncate-from', group, index: toLogIndex(42) },
  { kind: 'checkpoint', group, checkpoint },
  { kind: 'log-start', group, checkpoint },
  { kind: 'group-tombstone', group },
  {
    kind: 'group-summary',
    chain: 0xdeadbeef,
    summary: { group, hardState, checkpoint, lastIndex: toLogIndex(2 ** 53 - 1) },
  },
  { kind: 'tombstones', groups: [toGroupId(1), toGroupId(2 ** 32 - 1)] },
];

it('a log record decodes to itself, and follows the previous record without a gap (W1)', () => {
  expect(decodeAll(encode(EXAMPLES))).toEqual(EXAMPLES);
});

it('a log record decodes to itself for any numbers (W1)', () => {
  const u64 = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  const someGroup = fc.nat(2 ** 32 - 1).map(toGroupId);
  const someEntry = fc
    .record({
      group: someGroup,
      level: fc.nat(255),
      term: u64,
      index: u64,
      payload: fc.uint8Array({ maxLength: 99 }),
    })
    .map((r): LogRecord => ({ kind: 'entry', ...r, term: toTerm(r.term), index: toLogIndex(r.index) }));
  const someVote = fc
    .record({ group: someGroup, hardState: fc.record({ term: u64.map(toTerm), vote: u64 }) })
    .map((r): LogRecord => ({ kind: 'hard-state', ...r }));
  fc.assert(
    fc.property(fc.array(fc.oneof(someEntry, someVote), { maxLength: 20 }), (records) => {
      expect(decodeAll(encode(records))).toEqual(records);
    }),
  );
});

it.each<[string, number, readonly [offset: number, byte: number], RegExp]>([
  ['an unknown type', 0, [RECORD_OFFSET.type, 200], /type 200/],
  ['no type', 0, [RECORD_OFFSET.type, 0], /type 0/],
  ['the type of another payload', 0, [RECORD_OFFSET.type, 2], /type 2 with 3 bytes/],
  ['a term beyond 2^53', 0, [RECORD_OFFSET.term + 7, 1], /term \d+/],
  ['an index beyond 2^53', 0, [RECORD_OFFSET.index + 7, 1], /index \d+/],
  ['a vote beyond 2^53', 3, [RECORD_HEADER_BYTES + 7, 1], /number \d+/],
  ['an end of a history beyond 2^53', 5, [RECORD_HEADER_BYTES + 9, 0x7f], /a checkpoint that is none/],
  ['an end of a history beyond 2^53 in a start', 6, [RECORD_HEADER_BYTES + 9, 0x7f], /a checkpoint that is none/],
  ['a number of a summary beyond 2^53', 8, [RECORD_HEADER_BYTES + 23, 1], /number \d+/],
  ['a checkpoint of a summary beyond 2^53', 8, [RECORD_HEADER_BYTES + 33, 0x7f], /a checkpoint that is none/],
])('a log record is rejected with %s (W1)', (_name, example, [offset, byte], message) => {
  const bytes = encode(EXAMPLES.slice(example, example + 1));
  bytes[offset] = byte;
  expect(decodeRecord(bytes, new DataView(bytes.buffer), 0)).toMatch(message);
});

describe('a record with a membership', () => {
  const membership = membershipOf([toReplicaId(1), toReplicaId(2)]);
  const record: LogRecord = { ...entry, term: toTerm(1), index: toLogIndex(1), payload: NO_BYTES, membership };

  it.each([
    ['nobody in it', 0, 0, /four lists/],
    ['a voter twice', 2, 1, /named once/],
    ['a voter that is 0', 1, 0, /four lists/],
    ['more lists', 5, 1, /four lists/],
  ])('is rejected with %s (W1)', (_name, place, byte, message) => {
    const bytes = encode([record]);
    bytes[RECORD_HEADER_BYTES + place] = byte;
    expect(decodeRecord(bytes, new DataView(bytes.buffer), 0)).toMatch(message);
  });

  it('cannot be written together with a payload', () => {
    expect(() => encode([{ ...record, payload }])).toThrow('An entry with a membership has no payload');
  });
});

it('RecordWriter throws for an entry before index 1 and for a payload beyond the limit, as bugs of its caller', () => {
  const writer = new RecordWriter();
  const large = new Uint8Array(PAYLOAD_BYTES_MAX + 1);
  expect(() => writer.entry(group, { term: toTerm(1), index: toLogIndex(0), payload })).toThrow('index 1');
  expect(() => writer.entry(group, { term: toTerm(1), index: toLogIndex(1), payload: large })).toThrow('limit');
  expect(() => writer.hardState(group, { term: toTerm(1), vote: -1 })).toThrow('safe integer');
});

function decodeAll(bytes: Uint8Array<ArrayBuffer>): readonly (LogRecord | string)[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const records: (LogRecord | string)[] = [];
  for (let at = 0; at < bytes.length; at += view.getUint32(at, true)) records.push(decodeRecord(bytes, view, at));
  return records;
}
