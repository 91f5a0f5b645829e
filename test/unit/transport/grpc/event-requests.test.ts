// Goal: requests of the streaming reads are parsed as the generated code encoded them, and other bytes are rejected
// (T7). Method: given and random bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { ALL } from '#model';
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

  it('are parsed with exact uint64 values', () => {
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
      'heartbeat_ms must be an integer from 0 to 2^32 - 1; found 18446744073709551615',
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
