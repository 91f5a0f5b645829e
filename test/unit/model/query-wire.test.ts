// Goal: EventQuery and Position are decoded from any protobuf, and faults have the path of their field. Method: bytes
// in hexadecimal.
import { expect, it } from 'vitest';
import { ALL, comparePositions, decodeEventQuery, decodePosition, type EventQuery, Faults, term } from '#model';
import { hex, outcome } from '../../support/model-reading.ts';

const at = (seconds: number) => ({ seconds, nanos: 0 });
const plain: EventQuery = { selector: ALL, revisions: {}, direction: 'forward' };

function read(bytes: string): unknown {
  return outcome((faults) => decodeEventQuery(hex(bytes), 'query', faults));
}

it.each<[string, string, Partial<EventQuery>]>([
  ['nothing', '', {}],
  ['a selection', '0a05 0a03 0a0173', { selector: term('by-stream', 's') }],
  ['revisions', '1204 0801 1009', { revisions: { start: 1, end: 9 } }],
  ['revisions from 0', '1202 0800', { revisions: { start: 0 } }],
  ['no bounds', '1200', {}],
  ['an effective time', '1a08 0a02 0801 1202 0802', { effectiveTime: { start: at(1), end: at(2) } }],
  ['an open effective time', '1a00', { effectiveTime: {} }],
  ['the other direction', '2001', { direction: 'reverse' }],
  ['a limit', '2807', { limit: 7 }],
  ['limit 0, which is none', '2800', {}],
  ['a position', '3204 0803 1002', { after: { revision: 3, index: 2 } }],
  ['a position beyond 2^53', '3209 08 8080808080808010', { after: { revision: Number.MAX_SAFE_INTEGER, index: 0 } }],
  ['revisions to the end', '120d 0800 10 ffffffffffffffffff01', { revisions: { start: 0, end: 2n ** 64n - 1n } }],
])('an EventQuery may have %s', (_what, bytes, expected) => {
  expect(read(bytes)).toEqual({ ...plain, ...expected });
});

it.each([
  ['half a message', '0a05', 'query must be a protobuf message of cairn.v1.EventQuery'],
  ['an unknown field', 'f80101', 'query.31 must be absent: cairn.v1.EventQuery has no field 31 of wire type 0'],
  ['an unknown field of a range', '1202 1801', 'query.revision_range.3 must be absent: cairn.v1.RevisionRange'],
  ['an unknown field of a time range', '1a02 1801', 'query.effective_time_range.3 must be absent: cairn.v1.Effec'],
  ['an unknown field of a selection', '0a02 1001', 'query.event_selection.2 must be absent: cairn.v1.EventSelection'],
  ['half a range', '1201 08', 'query must be a protobuf message of cairn.v1.EventQuery'],
  ['half a time', '1a03 0a01 08', 'query must be a protobuf message of cairn.v1.EventQuery'],
  ['a bad selector', '0a04 0a02 0a00', 'query.event_selection.selectors[0].stream must not be empty'],
  ['crossed revisions', '1204 0809 1001', 'query.revision_range must have its start at or before its end'],
  ['crossed times', '1a08 0a02 0802 1202 0801', 'query.effective_time_range must have its start at or before its'],
  ['a time after 9999', '1a0a 1208 08 80808080808020', 'query.effective_time_range.end must lie in the years 0001'],
  ['direction 2', '2002', 'query.direction must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1)'],
  ['a limit beyond 32 bits', '28 8080808010', 'query.limit must be an integer from 0 to 2^32 - 1'],
])('an EventQuery must not have %s', (_what, bytes, expected) => {
  expect(JSON.stringify(read(bytes))).toContain(expected);
});

it('a Position is decoded alone, or rejected', () => {
  expect(decodePosition(hex('0803 1002'), 'after', new Faults())).toEqual({ revision: 3, index: 2 });
  expect(decodePosition(hex(''), 'after', new Faults())).toEqual({ revision: 0, index: 0 });
  const faults = new Faults();
  expect(decodePosition(hex('08'), 'after', faults)).toBeUndefined();
  expect(faults.violations.map(({ field }) => field)).toEqual(['after']);
});

it('a Position is ordered by revision, then index', () => {
  const sorted = [
    { revision: 1, index: 9 },
    { revision: 2, index: 0 },
    { revision: 2, index: 1 },
  ];
  expect(sorted.toReversed().toSorted(comparePositions)).toEqual(sorted);
});
