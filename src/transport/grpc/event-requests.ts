/**
 * Reads the requests of the streaming reads by walking their bytes. Selectors and queries are read by `#model`, which
 * reports every fault by its path.
 */
import { nearestRevision, type Revision, toAskedRevision, toRevision } from '#base';
import {
  ALL,
  type AskedPosition,
  type Direction,
  decodeEventQuery,
  decodePosition,
  decodeSelection,
  type EventQuery,
  Faults,
  readDirection,
  readLimit,
  refuseField,
  type Selector,
} from '#model';
import type { ReadAt } from '#service';
import { readMessage, readText, walkFields } from '../request-reader.ts';

export interface QueryRequest {
  readonly databaseName: string;
  readonly query: EventQuery;
  readonly at: ReadAt;
}

export interface ScanRequest {
  readonly databaseName: string;
  readonly startRevision: Revision;
  readonly direction: Direction;
  readonly limit: number;
}

export interface SubscriptionRequest {
  readonly databaseName: string;
  readonly selector: Selector;
  readonly after?: AskedPosition;
  readonly heartbeatMs: number | bigint;
}

const DATABASE_NAME = 0x0a;
const QUERY_TAG = { QUERY: 0x12, AT_REVISION: 0x18 } as const;
const SCAN_TAG = { START: 0x10, DIRECTION: 0x18, LIMIT: 0x20 } as const;
const SUBSCRIBE_TAG = { SELECTION: 0x12, AFTER: 0x1a, HEARTBEAT: 0x20 } as const;

const FORWARD: Direction = 'forward';
const EVERYTHING: EventQuery = { selector: ALL, revisions: {}, direction: FORWARD };
const HEARTBEAT_MS_DEFAULT = 1000;

export function parseQueryRequest(bytes: Uint8Array): QueryRequest {
  const faults = new Faults();
  const draft: { databaseName: string; query: EventQuery | undefined; at: ReadAt } = {
    databaseName: '',
    query: EVERYTHING,
    at: 'latest',
  };
  walkFields(bytes, 'cairn.v1.QueryEventsRequest', (reader, tag) => {
    if (tag === DATABASE_NAME) draft.databaseName = readText(reader, 'database_name', faults);
    else if (tag === QUERY_TAG.QUERY) draft.query = decodeEventQuery(readMessage(reader), 'query', faults);
    else if (tag === QUERY_TAG.AT_REVISION) draft.at = toAskedRevision(reader.uint64());
    else refuseField(reader, tag, { field: '', type: 'cairn.v1.QueryEventsRequest', faults });
  });
  faults.throwIfAny('The request is malformed');
  return { ...draft, query: draft.query ?? EVERYTHING };
}

export function parseScanRequest(bytes: Uint8Array): ScanRequest {
  const faults = new Faults();
  const draft = { databaseName: '', startRevision: toRevision(0), direction: FORWARD, limit: 0 };
  walkFields(bytes, 'cairn.v1.ScanDatabaseLogRequest', (reader, tag) => {
    if (tag === DATABASE_NAME) draft.databaseName = readText(reader, 'database_name', faults);
    else if (tag === SCAN_TAG.START) draft.startRevision = nearestRevision(reader.uint64());
    else if (tag === SCAN_TAG.DIRECTION) draft.direction = readDirection(reader, 'direction', faults);
    else if (tag === SCAN_TAG.LIMIT) draft.limit = readLimit(reader, 'limit', faults);
    else refuseField(reader, tag, { field: '', type: 'cairn.v1.ScanDatabaseLogRequest', faults });
  });
  faults.throwIfAny('The request is malformed');
  return draft;
}

export function parseSubscriptionRequest(bytes: Uint8Array): SubscriptionRequest {
  const faults = new Faults();
  let databaseName = '';
  let selector: Selector | undefined = ALL;
  let after: AskedPosition | undefined;
  let heartbeatMs: number | bigint = 0;
  walkFields(bytes, 'cairn.v1.SubscribeEventsRequest', (reader, tag) => {
    if (tag === DATABASE_NAME) databaseName = readText(reader, 'database_name', faults);
    else if (tag === SUBSCRIBE_TAG.SELECTION)
      selector = decodeSelection(readMessage(reader), 'event_selection', faults);
    else if (tag === SUBSCRIBE_TAG.AFTER) after = decodePosition(readMessage(reader), 'after', faults);
    else if (tag === SUBSCRIBE_TAG.HEARTBEAT) heartbeatMs = reader.uint64();
    else refuseField(reader, tag, { field: '', type: 'cairn.v1.SubscribeEventsRequest', faults });
  });
  faults.throwIfAny('The request is malformed');
  const request = { databaseName, selector: selector ?? ALL, heartbeatMs: heartbeatMs || HEARTBEAT_MS_DEFAULT };
  return after === undefined ? request : { ...request, after };
}
