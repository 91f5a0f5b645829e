/**
 * Event queries in JSON, for both HTTP route families.
 *
 * Revision-scoped, as the `q` parameter (URL-safe base64 without padding):
 * ```
 * {"selector": …, "direction": "FORWARD", "limit": 100, "after": {"revision": 7, "index": 0},
 *  "range": {"revision": {"startAt": 1, "endAt": 9}, "effectiveTime": {"startAt": t, "endAt": t | "endAtNow": true}}}
 * ```
 * `"revision": 1` is short for `{"startAt": 1}`.
 *
 * Collection-style, as a body:
 * ```
 * {"selectors": [ … ], "revision_range": {"start": 1, "end": 9}, "effective_time_range": {"start": t, "end": t},
 *  "direction": "forward", "limit": 100}
 * ```
 * Names may be written in snake case or camel case. An effective-time range of the first family must have exactly one
 * cut: `endAt`, or `endAtNow: true`.
 */
import { encodeUtf8, formatInstant, fromBase64Url, type Instant, nearestRevision, toBase64Url } from '#base';
import type { FaultPlace, Faults } from './faults.ts';
import { type JsonNode, type JsonObject, parseJson } from './json.ts';
import {
  booleanFrom,
  countFrom,
  describe,
  describeMembers,
  inside,
  instantFrom,
  integerFrom,
  isPresent,
  member,
  objectFrom,
  readMember,
  refuseOthers,
  revisionFrom,
  spellingIn,
  textFrom,
} from './json-read.ts';
import { QUERY_LIMIT_MAX } from './limits.ts';
import {
  checkBounds,
  type Direction,
  type EffectiveTimeBounds,
  type EventQuery,
  type Position,
  type RevisionBounds,
} from './query.ts';
import { ALL } from './selector.ts';
import { selectionFromJson, selectorFromJson, selectorToJson } from './selector-json.ts';

/** A query of the revision-scoped family. */
export interface ScopedQuery {
  readonly query: EventQuery;
  /** The cut is the time of the answer: `query.effectiveTime` has no end yet. */
  readonly endAtNow: boolean;
}

/** The query of a `q` parameter, or undefined with faults added. */
export function queryFromParameter(q: string, faults: Faults): ScopedQuery | undefined {
  const bytes = fromBase64Url(q);
  if (bytes === undefined) return faults.add('q', 'must be URL-safe base64 without padding', q);
  const node = parseJson(bytes);
  if (node.kind === 'fault') return faults.add('q', `must hold JSON, in URL-safe base64: ${node.message}`, q);
  return scopedQueryFromJson(node, 'q', faults);
}

export function queryToParameter(query: EventQuery): string {
  return toBase64Url(encodeUtf8(queryToJson(query)));
}

export function scopedQueryFromJson(node: JsonNode, field: string, faults: Faults): ScopedQuery | undefined {
  const countBefore = faults.count;
  const place = { field, faults };
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  refuseOthers(object, ['selector', 'range', 'direction', 'limit', 'after'], place);
  const range = readMember(object, ['range'], place, readRange) ?? NO_RANGE;
  const query = {
    selector: readMember(object, ['selector'], place, (each, at) => selectorFromJson(each, at.field, faults)) ?? ALL,
    revisions: range.revisions,
    effectiveTime: range.effectiveTime,
    ...readOrder(object, place, POSITION_RULE),
  };
  checkBounds(query, { revisions: `${field}.range.revision`, effectiveTime: `${field}.range.effectiveTime` }, faults);
  return faults.count === countBefore ? { query, endAtNow: range.endAtNow } : undefined;
}

export function collectionQueryFromJson(node: JsonNode, faults: Faults): EventQuery | undefined {
  const countBefore = faults.count;
  const place = { field: '', faults };
  const object = objectFrom(node, { field: 'body', faults });
  if (object === undefined) return undefined;
  refuseOthers(object, ['selectors', ...REVISION_RANGE, ...TIME_RANGE, 'direction', 'limit', 'after'], place);
  const query = {
    selector: readMember(object, ['selectors'], place, (each, at) => selectionFromJson(each, at.field, faults)) ?? ALL,
    revisions: readMember(object, REVISION_RANGE, place, readRevisions) ?? {},
    effectiveTime: readMember(object, TIME_RANGE, place, readTimes),
    ...readOrder(object, place, PAGE_RULE),
  };
  checkBounds(query, { revisions: 'revision_range', effectiveTime: 'effective_time_range' }, faults);
  return faults.count === countBefore ? query : undefined;
}

type Order = Pick<EventQuery, 'direction' | 'limit' | 'after'>;

const POSITION_RULE = 'must be an object: the position of an event, such as {"revision": 7, "index": 0}';
// A text is a cursor, which is not read here.
const PAGE_RULE = 'must be the next_cursor of the page before, or a position such as {"revision": 7, "index": 0}';

function readOrder(object: JsonObject, place: FaultPlace, afterRule: string): Order {
  return {
    direction: readMember(object, ['direction'], place, readDirection) ?? 'forward',
    limit: readMember(object, ['limit'], place, readLimit),
    after: readMember(object, ['after'], place, (node, at) => readPosition(node, at, afterRule)),
  };
}

function readDirection(node: JsonNode, place: FaultPlace): Direction {
  const text = textFrom(node, place);
  const direction = text?.toLowerCase();
  if (text !== undefined && direction !== 'forward' && direction !== 'reverse') {
    place.faults.add(place.field, 'must be forward or reverse, in letters of either case', text);
  }
  return direction === 'reverse' ? 'reverse' : 'forward';
}

function readLimit(node: JsonNode, place: FaultPlace): number | undefined {
  return integerFrom(node, { min: 1, max: QUERY_LIMIT_MAX }, place);
}

function readPosition(node: JsonNode, place: FaultPlace, rule: string): Position | undefined {
  const object = objectFrom(node, place, rule);
  if (object === undefined) return undefined;
  refuseOthers(object, ['revision', 'index'], place);
  if (!isPresent(object.members.get('revision'))) {
    return place.faults.add(inside(place, 'revision').field, 'is required');
  }
  return {
    revision: nearestRevision(readMember(object, ['revision'], place, revisionFrom) ?? 0),
    index: readMember(object, ['index'], place, countFrom) ?? 0,
  };
}

interface Range {
  readonly revisions: RevisionBounds;
  readonly effectiveTime: EffectiveTimeBounds | undefined;
  readonly endAtNow: boolean;
}

const NO_RANGE: Range = { revisions: {}, effectiveTime: undefined, endAtNow: false };
const START_NAMES = ['startAt', 'start_at', 'start'];
const END_NAMES = ['endAt', 'end_at', 'end'];
const NOW_NAMES = ['endAtNow', 'end_at_now'];
const REVISION_RANGE = ['revision_range', 'revisionRange'];
const TIME_RANGE = ['effective_time_range', 'effectiveTimeRange'];
const EFFECTIVE_TIME = ['effectiveTime', 'effective_time'];
/** Every spelling of a range and its members. */
export const RANGE_NAMES: readonly string[] = [
  ...START_NAMES,
  ...END_NAMES,
  ...NOW_NAMES,
  ...REVISION_RANGE,
  ...TIME_RANGE,
  ...EFFECTIVE_TIME,
];

function readRange(node: JsonNode, place: FaultPlace): Range {
  const object = objectFrom(node, place);
  if (object === undefined) return NO_RANGE;
  refuseOthers(object, ['revision', ...EFFECTIVE_TIME], place);
  const revisions = readMember(object, ['revision'], place, readScopedRevisions) ?? {};
  return { ...NO_RANGE, revisions, ...readMember(object, EFFECTIVE_TIME, place, readCut) };
}

/** A number is the start of an open range. */
function readScopedRevisions(node: JsonNode, place: FaultPlace): RevisionBounds {
  if (node.kind === 'number') return { start: revisionFrom(node, place) };
  if (node.kind === 'object') return readRevisions(node, place);
  place.faults.add(place.field, 'must be an integer, or an object with startAt and endAt', describe(node));
  return {};
}

function readRevisions(node: JsonNode, place: FaultPlace): RevisionBounds {
  return readBounds(node, place, revisionFrom);
}

function readTimes(node: JsonNode, place: FaultPlace): EffectiveTimeBounds {
  return readBounds(node, place, instantFrom);
}

interface Bounds<Value> {
  readonly start?: Value | undefined;
  readonly end?: Value | undefined;
}

type Read<Value> = (node: JsonNode, place: FaultPlace) => Value | undefined;

function readBounds<Value>(node: JsonNode, place: FaultPlace, read: Read<Value>): Bounds<Value> {
  const object = objectFrom(node, place);
  if (object === undefined) return {};
  refuseOthers(object, [...START_NAMES, ...END_NAMES], place);
  return boundsIn(object, place, read);
}

/** Faults use the spelling of the request. */
function boundsIn<Value>(object: JsonObject, place: FaultPlace, read: Read<Value>): Bounds<Value> {
  const [start, end] = [START_NAMES, END_NAMES].map((spellings) => {
    const sent = spellingIn(object, spellings);
    return readMember(object, [sent, ...spellings.filter((each) => each !== sent)], place, read);
  });
  return { start, end };
}

/** Exactly one of an end and `endAtNow: true`. */
function readCut(node: JsonNode, place: FaultPlace): Pick<Range, 'effectiveTime' | 'endAtNow'> {
  const object = objectFrom(node, place);
  if (object === undefined) return { effectiveTime: {}, endAtNow: false };
  refuseOthers(object, [...START_NAMES, ...END_NAMES, ...NOW_NAMES], place);
  const endAtNow = readMember(object, NOW_NAMES, place, booleanFrom) === true;
  const hasEnd = member(object, END_NAMES, place) !== undefined;
  if (hasEnd === endAtNow) {
    place.faults.add(place.field, 'must have exactly one of endAt and endAtNow: true', describeMembers(object));
  }
  return { effectiveTime: boundsIn(object, place, instantFrom), endAtNow };
}

/** Writes the revision-scoped form, which `scopedQueryFromJson` reads back. The effective-time range has an end. */
function queryToJson(query: EventQuery): string {
  const { selector, revisions, effectiveTime, direction, limit, after } = query;
  const parts = [`"selector":${selectorToJson(selector)}`];
  const ranges: string[] = [];
  if (revisions.start !== undefined || revisions.end !== undefined) {
    ranges.push(`"revision":{${boundsToJson(revisions)}}`);
  }
  if (effectiveTime !== undefined) {
    const [startAt, endAt] = [textOf(effectiveTime.start), textOf(effectiveTime.end)];
    ranges.push(`"effectiveTime":${JSON.stringify({ startAt, endAt })}`);
  }
  if (ranges.length > 0) parts.push(`"range":{${ranges.join(',')}}`);
  parts.push(`"direction":"${direction.toUpperCase()}"`);
  if (limit !== undefined) parts.push(`"limit":${limit}`);
  if (after !== undefined) parts.push(`"after":{"revision":${after.revision},"index":${after.index}}`);
  return `{${parts.join(',')}}`;
}

/** Digits of any length. */
function boundsToJson({ start, end }: RevisionBounds): string {
  const bounds = [start === undefined ? [] : `"startAt":${start}`, end === undefined ? [] : `"endAt":${end}`];
  return bounds.flat().join(',');
}

function textOf(instant: Instant | undefined): string | undefined {
  return instant === undefined ? undefined : formatInstant(instant);
}
