/** Reads the requests of the streaming reads. Their selectors, queries and positions are read by `#model`. */
import { nearestRevision, type Revision, toAskedRevision } from '#base';
import {
  ALL,
  type AskedPosition,
  type Direction,
  decodeEventQuery,
  decodePosition,
  decodeSelection,
  directionFrom,
  type EventQuery,
  Faults,
  type Selector,
} from '#model';
import type { ReadAt } from '#service';
import { readRequest } from '../request-reader.ts';

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
  readonly heartbeatMs: number;
}

const EVERYTHING: EventQuery = { selector: ALL, revisions: {}, direction: 'forward' };
const HEARTBEAT_MS_DEFAULT = 1000;

export function parseQueryRequest(bytes: Uint8Array): QueryRequest {
  const faults = new Faults();
  const { databaseName, query, atRevision } = readRequest('cairn.v1.QueryEventsRequest', bytes, faults);
  const decoded = query && decodeEventQuery(query, 'query', faults);
  faults.throwIfAny('The request is malformed');
  const at = atRevision === undefined ? 'latest' : toAskedRevision(atRevision);
  return { databaseName, query: decoded ?? EVERYTHING, at };
}

export function parseScanRequest(bytes: Uint8Array): ScanRequest {
  const faults = new Faults();
  const { databaseName, startRevision, direction, limit } = readRequest(
    'cairn.v1.ScanDatabaseLogRequest',
    bytes,
    faults,
  );
  const scan = { direction: directionFrom(direction, 'direction', faults), limit };
  faults.throwIfAny('The request is malformed');
  return { databaseName, startRevision: nearestRevision(startRevision), ...scan };
}

export function parseSubscriptionRequest(bytes: Uint8Array): SubscriptionRequest {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.SubscribeEventsRequest', bytes, faults);
  const { databaseName, eventSelection, heartbeatMs } = sent;
  const selector = eventSelection && decodeSelection(eventSelection, 'event_selection', faults);
  const after = sent.after && decodePosition(sent.after, 'after', faults);
  faults.throwIfAny('The request is malformed');
  const request = { databaseName, selector: selector ?? ALL, heartbeatMs: heartbeatMs || HEARTBEAT_MS_DEFAULT };
  return after === undefined ? request : { ...request, after };
}
