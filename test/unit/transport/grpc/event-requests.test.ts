// Goal: requests of the streaming reads are parsed as the generated code encoded them, and other bytes are rejected
// (T7). Method: given and random bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { ALL, type EventQuery, term } from '#model';
import { parseExecute } from '../../../../src/transport/grpc/command-requests.ts';
import {
  parseQueryRequest,
  parseScanRequest,
  parseSubscriptionRequest,
} from '../../../../src/transport/grpc/event-requests.ts';
import {
  parsePublishPresenter,
  parsePublishStateChange,
  parsePublishStateView,
} from '../../../../src/transport/grpc/publish-requests.ts';
import { reading } from '../../../../src/transport/request-reader.ts';
import { hex, textsOf } from '../../../support/model-reading.ts';

const parseDelete = reading('cairn.v1.DeleteDatabaseRequest');
const parseAwait = reading('cairn.v1.AwaitDatabaseRequest');

it('parseScanRequest rejects an unknown direction', () => {
  expect(() => parseScanRequest(Uint8Array.of(0x18, 2))).toThrow(
    'direction must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1); found 2',
  );
});

it('parseSubscriptionRequest reads an empty message as all events from the first one, and so do queries', () => {
  const empty = new Uint8Array(0);
  expect(parseSubscriptionRequest(empty)).toEqual({ databaseName: '', selector: ALL, heartbeatMs: 1000 });
  const query = { selector: ALL, revisions: {}, direction: 'forward' };
  expect(parseQueryRequest(empty)).toEqual({ databaseName: '', query, at: 'latest' });
});

const at = (seconds: number) => ({ seconds, nanos: 0 });
const plain: EventQuery = { selector: ALL, revisions: {}, direction: 'forward' };

function queryOf(bytes: string): EventQuery {
  const query = hex(bytes);
  return parseQueryRequest(Uint8Array.of(0x12, query.length, ...query)).query;
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
  expect(queryOf(bytes)).toEqual({ ...plain, ...expected });
});

it.each([
  ['half a message', '0a05', 'The message is not a cairn.v1.EventQuery: the field at byte 0 is not protobuf'],
  ['an unknown field', 'f80101', 'query.31 must be absent: cairn.v1.EventQuery has no field 31 of wire type 0'],
  ['an unknown field of a range', '1202 1801', 'query.revision_range.3 must be absent: cairn.v1.RevisionRange'],
  ['an unknown field of a time range', '1a02 1801', 'query.effective_time_range.3 must be absent: cairn.v1.Effec'],
  ['an unknown field of a selection', '0a02 1001', 'query.event_selection.2 must be absent: cairn.v1.EventSelection'],
  ['half a range', '1201 08', 'The message is not a cairn.v1.RevisionRange: the field at byte 0 is not protobuf'],
  ['half a time', '1a03 0a01 08', 'The message is not a cairn.v1.EffectiveTimeRange: the field at byte 0 is'],
  ['a bad selector', '0a04 0a02 0a00', 'query.event_selection.selectors[0].stream must not be empty'],
  ['crossed revisions', '1204 0809 1001', 'query.revision_range must have its start at or before its end'],
  ['crossed times', '1a08 0a02 0802 1202 0801', 'query.effective_time_range must have its start at or before its'],
  ['a time after 9999', '1a0a 1208 08 80808080808020', 'query.effective_time_range.end must lie in the years 0001'],
  ['direction 2', '2002', 'query.direction must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1)'],
  ['an unknown field of a position', '3202 1801', 'query.after.3 must be absent: cairn.v1.Position has no field'],
  ['a limit beyond 32 bits', '28 8080808010', 'query.limit must be an integer from 0 to 2^32 - 1'],
])('an EventQuery must not have %s', (_what, bytes, expected) => {
  expect(() => queryOf(bytes)).toThrow(expected);
});

it('parseSubscriptionRequest reads the position to continue after', () => {
  expect(parseSubscriptionRequest(hex('1a04 0803 1002')).after).toEqual({ revision: 3, index: 2 });
  expect(parseSubscriptionRequest(hex('1a00')).after).toEqual({ revision: 0, index: 0 });
});

it('a publication that breaks a rule keeps its definition, which the audit log names', () => {
  const { definition, faults } = parsePublishPresenter(hex('1201 70'));
  expect(definition).toMatchObject({ kind: 'presenter', name: 'p' });
  expect(textsOf(faults)).toEqual(['content_types must offer at least one content type']);
});

describe('any bytes (T7)', () => {
  const parsers: readonly [string, (bytes: Uint8Array) => unknown][] = [
    ['QueryEventsRequest', parseQueryRequest],
    ['ScanDatabaseLogRequest', parseScanRequest],
    ['SubscribeEventsRequest', parseSubscriptionRequest],
    ['DeleteDatabaseRequest', parseDelete],
    ['AwaitDatabaseRequest', parseAwait],
    ['DatabaseEffectiveAtTimestampRequest', reading('cairn.v1.DatabaseEffectiveAtTimestampRequest')],
    ['ExecuteStateChangeRequest', parseExecute],
    ['PublishStateViewRequest', parsePublishStateView],
    ['PublishStateChangeRequest', parsePublishStateChange],
    ['PublishPresenterRequest', parsePublishPresenter],
  ];

  it.each(parsers)('are a request or invalid_argument for %s', (_name, parse) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expect(['a request', 'invalid_argument']).toContain(verdict(() => parse(bytes)));
      }),
      { numRuns: 1000 },
    );
  });

  it('are rejected when a text is not UTF-8, with the path of the text', () => {
    const bytes = Uint8Array.of(0x12, 1, 0x61, 0x0a, 2, 0xc3, 0x28, 0x12, 0);
    const rule = 'must be well-formed UTF-8; found 0xc328';
    expect(() => parseDelete(bytes)).toThrow(`database_name ${rule}`);
    const parameters = Uint8Array.of(0x1a, 0, 0x1a, 4, 0x0a, 2, 0xc3, 0x28);
    expect(() => reading('cairn.v1.FetchStateViewRequest')(parameters)).toThrow(`parameters[1].key ${rule}`);
  });

  it('are parsed with exact uint64 values, by all readers', () => {
    const bytes = Uint8Array.of(0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
    const most = 2n ** 64n - 1n;
    expect(parseAwait(bytes.with(0, 0x10)).atRevision).toBe(most);
    expect(parseQueryRequest(bytes).at).toBe(most);
    expect(parseScanRequest(bytes.with(0, 0x10)).startRevision).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => parseScanRequest(bytes.with(0, 0x20))).toThrow(
      'limit must be an integer from 0 to 2^32 - 1; found 184467',
    );
    expect(() => parseScanRequest(bytes)).toThrow(
      'direction must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1); found 18446744073709551615',
    );
    expect(() => parseSubscriptionRequest(bytes.with(0, 0x20))).toThrow(
      'heartbeat_ms must be an integer from 0 to 2^32 - 1',
    );
  });
});

function verdict(parse: () => unknown): string {
  try {
    parse();
    return 'a request';
  } catch (failure) {
    return failure instanceof DatabaseError ? failure.code : String(failure);
  }
}
