/** Reads the requests of the streaming reads. Their selections are read by `#model`. */
import { nearestRevision, toAskedRevision } from '#base';
import {
  ALL,
  checkBounds,
  type Direction,
  decodeSelection,
  type EffectiveTimeBounds,
  type EventQuery,
  type FaultPlace,
  Faults,
  type Selector,
} from '#model';
import type { PacedRequest, QueryEventsRequest, ScanLogRequest, SubscribeRequest } from '#service';
import type { Requests } from '../../../proto/gen/requests.ts';
import { instantFrom, readRequest } from '../request-reader.ts';

/** Members of a request that are in its message. */
type Sent<Request extends PacedRequest> = Omit<Request, Exclude<keyof PacedRequest, 'databaseName'>>;

const HEARTBEAT_MS_DEFAULT = 1000;

export function parseQueryRequest(bytes: Uint8Array): Sent<QueryEventsRequest> {
  const faults = new Faults();
  const { databaseName, query: sent, atRevision } = readRequest('cairn.v1.QueryEventsRequest', bytes, faults);
  const query = queryFrom(sent, { field: 'query', faults });
  faults.throwIfAny('The request is malformed');
  return { databaseName, query, at: atRevision === undefined ? 'latest' : toAskedRevision(atRevision) };
}

export function parseScanRequest(bytes: Uint8Array): Sent<ScanLogRequest> {
  const faults = new Faults();
  const { startRevision, direction, ...sent } = readRequest('cairn.v1.ScanDatabaseLogRequest', bytes, faults);
  const request = {
    ...sent,
    startRevision: nearestRevision(startRevision),
    direction: directionFrom(direction, { field: 'direction', faults }),
  };
  faults.throwIfAny('The request is malformed');
  return request;
}

export function parseSubscriptionRequest(bytes: Uint8Array): Sent<SubscribeRequest> {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.SubscribeEventsRequest', bytes, faults);
  const { databaseName, eventSelection, after, heartbeatMs } = sent;
  const selector = selectorFrom(eventSelection, { field: 'event_selection', faults });
  faults.throwIfAny('The request is malformed');
  const request = { databaseName, selector, heartbeatMs: heartbeatMs || HEARTBEAT_MS_DEFAULT };
  return after === undefined ? request : { ...request, after };
}

function queryFrom(sent: Requests['cairn.v1.EventQuery'], { field, faults }: FaultPlace): EventQuery {
  const { effectiveTimeRange: times, after } = sent;
  const paths = { revisions: `${field}.revision_range`, effectiveTime: `${field}.effective_time_range` };
  const query = {
    selector: selectorFrom(sent.eventSelection, { field: `${field}.event_selection`, faults }),
    revisions: sent.revisionRange,
    effectiveTime: times && timesFrom(times, { field: paths.effectiveTime, faults }),
    direction: directionFrom(sent.direction, { field: `${field}.direction`, faults }),
    limit: sent.limit || undefined,
    // A position to continue after may lie beyond the database.
    after: after && { revision: nearestRevision(after.revision), index: after.index },
  };
  checkBounds(query, paths, faults);
  return query;
}

/** Without a selection: every event. */
function selectorFrom(selection: Uint8Array | undefined, { field, faults }: FaultPlace): Selector {
  return (selection && decodeSelection(selection, field, faults)) ?? ALL;
}

function timesFrom(
  { start, end }: Requests['cairn.v1.EffectiveTimeRange'],
  { field, faults }: FaultPlace,
): EffectiveTimeBounds {
  return {
    start: start && instantFrom(start, { field: `${field}.start`, faults }),
    end: end && instantFrom(end, { field: `${field}.end`, faults }),
  };
}

function directionFrom(sent: number | bigint, { field, faults }: FaultPlace): Direction {
  if (sent !== 0 && sent !== 1) faults.add(field, 'must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1)', sent);
  return sent === 1 ? 'reverse' : 'forward';
}
