/** `cairn.v1.EventQuery`: read from a request in any valid protobuf without unknown fields. */
import { type Instant, nearestRevision, ProtoReader } from '#base';
import type { Faults } from './faults.ts';
import { MESSAGE_FIELDS_MAX } from './limits.ts';
import {
  type AskedPosition,
  checkBounds,
  type Direction,
  type EffectiveTimeBounds,
  type EventQuery,
  type Position,
  type RevisionBounds,
} from './query.ts';
import { ALL, type Selector } from './selector.ts';
import { decodeSelection } from './selector-wire.ts';
import { instantOfTimestamp, mergeTimestamp, showTimestamp, TIMESTAMP_RULE } from './timestamp-wire.ts';
import { refuseField } from './unknown-field.ts';

const UINT32_MAX = 2 ** 32 - 1;

type Draft = { -readonly [Field in keyof EventQuery]: EventQuery[Field] };

interface Place {
  readonly field: string;
  readonly faults: Faults;
}

/** The query, or undefined with faults added. A message in several parts is not merged: the last part wins. */
export function decodeEventQuery(bytes: Uint8Array, field: string, faults: Faults): EventQuery | undefined {
  const countBefore = faults.count;
  const reader = new ProtoReader(bytes);
  const draft: Draft = { selector: ALL, revisions: {}, direction: 'forward' };
  for (let count = 0; !reader.done; count++) {
    if (count === MESSAGE_FIELDS_MAX) return faults.add(field, `must have at most ${MESSAGE_FIELDS_MAX} fields`);
    readField(reader, draft, { field, faults });
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of cairn.v1.EventQuery');
  const paths = { revisions: `${field}.revision_range`, effectiveTime: `${field}.effective_time_range` };
  checkBounds(draft, paths, faults);
  return faults.count === countBefore ? draft : undefined;
}

function readField(reader: ProtoReader, draft: Draft, { field, faults }: Place): void {
  const tag = reader.tag();
  if (tag === 0x0a) draft.selector = readSelection(reader, { field: `${field}.event_selection`, faults }) ?? ALL;
  else if (tag === 0x12) {
    const place = { field: `${field}.revision_range`, faults };
    draft.revisions = readInner(reader, (message) => readRevisionBounds(message, place));
  } else if (tag === 0x1a) {
    const place = { field: `${field}.effective_time_range`, faults };
    draft.effectiveTime = readInner(reader, (message) => readTimeBounds(message, place));
  } else if (tag === 0x20) draft.direction = directionFrom(reader.int64(), `${field}.direction`, faults);
  else if (tag === 0x28) draft.limit = readLimit(reader, `${field}.limit`, faults) || undefined;
  else if (tag === 0x32) draft.after = readInner(reader, readPlace);
  else refuseField(reader, tag, { field, type: 'cairn.v1.EventQuery', faults });
}

/** Reads a nested message; its failure fails the outer one. */
function readInner<Value>(reader: ProtoReader, read: (message: ProtoReader) => Value): Value {
  const start = reader.lengthDelimited();
  const message = new ProtoReader(reader.bytes, start, reader.at);
  const value = read(message);
  if (message.failed) reader.fail();
  return value;
}

function readSelection(reader: ProtoReader, { field, faults }: Place): Selector | undefined {
  const start = reader.lengthDelimited();
  return decodeSelection(reader.bytes.subarray(start, reader.at), field, faults);
}

function readRevisionBounds(reader: ProtoReader, place: Place): RevisionBounds {
  let start: number | bigint | undefined;
  let end: number | bigint | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x08) start = reader.uint64();
    else if (tag === 0x10) end = reader.uint64();
    else refuseField(reader, tag, { ...place, type: 'cairn.v1.RevisionRange' });
  }
  return { start, end };
}

function readTimeBounds(reader: ProtoReader, { field, faults }: Place): EffectiveTimeBounds {
  let start: Instant | undefined;
  let end: Instant | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) start = readInstant(reader, { field: `${field}.start`, faults });
    else if (tag === 0x12) end = readInstant(reader, { field: `${field}.end`, faults });
    else refuseField(reader, tag, { field, type: 'cairn.v1.EffectiveTimeRange', faults });
  }
  return { start, end };
}

function readInstant(reader: ProtoReader, { field, faults }: Place): Instant | undefined {
  const sent = mergeTimestamp(reader);
  if (sent === undefined) {
    reader.fail();
    return undefined;
  }
  return instantOfTimestamp(sent) ?? faults.add(field, TIMESTAMP_RULE, showTimestamp(sent));
}

/** Direction of a request; an unknown value is a fault. */
export function directionFrom(value: number | bigint, field: string, faults: Faults): Direction {
  if (value !== 0 && value !== 1) faults.add(field, 'must be DIRECTION_FORWARD (0) or DIRECTION_REVERSE (1)', value);
  return value === 1 ? 'reverse' : 'forward';
}

/** Limit of a request; 0 means no limit. */
export function readLimit(reader: ProtoReader, field: string, faults: Faults): number {
  const value = reader.uint64();
  if (typeof value === 'number' && value <= UINT32_MAX) return value;
  faults.add(field, 'must be an integer from 0 to 2^32 - 1', value);
  return 0;
}

/** A Position sent on its own, as in SubscribeEvents, or undefined with faults added. */
export function decodePosition(bytes: Uint8Array, field: string, faults: Faults): AskedPosition | undefined {
  const reader = new ProtoReader(bytes);
  const position = readPositionFields(reader);
  return reader.failed ? faults.add(field, 'must be a protobuf message of cairn.v1.Position') : position;
}

/** A position to continue after may lie beyond the database. */
function readPlace(reader: ProtoReader): Position {
  const { revision, index } = readPositionFields(reader);
  return { revision: nearestRevision(revision), index };
}

function readPositionFields(reader: ProtoReader): AskedPosition {
  let revision: number | bigint = 0;
  let index = 0;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x08) revision = reader.uint64();
    else if (tag === 0x10) index = nearestRevision(reader.uint64());
    else reader.skipField(tag);
  }
  return { revision, index };
}
