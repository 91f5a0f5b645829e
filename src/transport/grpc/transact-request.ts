/**
 * Reads a Transact request in one walk over its bytes.
 *
 * ```
 * TransactRequest   0A database_name | 12 transaction | 1A CloudEvent* | 22 constraint* | 2A transaction_id | 32 options
 * Transaction       0A Event*        | 12 constraint* | 1A transaction_id | 22 options
 * ```
 *
 * Canonical events stay views of the request; the others are decoded and encoded once. Faults of events, constraints
 * and options are collected for the service (T6). Only bytes that are not a request are an error here, with the offset.
 */
import { concatBytes, type DatabaseError, decodeUtf8, ProtoReader } from '#base';
import {
  acceptCloudEvent,
  acceptEvent,
  CONSTRAINTS_MAX,
  type Constraint,
  decodeConstraint,
  decodeTransactionOptions,
  type EventShape,
  Faults,
  foundBytes,
  NO_OPTIONS,
  ORIGIN,
  refuseField,
  TRANSACTION_EVENTS_MAX,
} from '#model';
import type { Traced } from '#observability';
import type { RevisionFloor, TransactFields, TransactRequest } from '#service';
import { brokenField, notTheMessage, readMessage } from '../request-reader.ts';

const TAG = {
  DATABASE_NAME: 0x0a,
  TRANSACTION: 0x12,
  CLOUD_EVENT: 0x1a,
  CONSTRAINT: 0x22,
  TRANSACTION_ID: 0x2a,
  OPTIONS: 0x32,
} as const;

const INNER_TAG = { EVENT: 0x0a, CONSTRAINT: 0x12, TRANSACTION_ID: 0x1a, OPTIONS: 0x22 } as const;

const DIRECT_FIELDS: TransactFields = {
  transactionId: 'transaction_id',
  events: 'events',
  constraints: 'constraints',
};

const TRANSACTION_FIELDS: TransactFields = {
  transactionId: 'transaction.transaction_id',
  events: 'transaction.events',
  constraints: 'transaction.constraints',
};

/** Reader for the events of one of the two shapes. */
interface EventReading {
  readonly accept: typeof acceptEvent;
  readonly list: string;
  readonly shape: EventShape;
}

const DIRECT_EVENTS: EventReading = {
  accept: acceptCloudEvent,
  list: DIRECT_FIELDS.events,
  shape: 'io.cloudevents.v1.CloudEvent',
};

const TRANSACTION_EVENTS: EventReading = {
  accept: acceptEvent,
  list: TRANSACTION_FIELDS.events,
  shape: 'cairn.v1.Event',
};

/** Values from the metadata of the call, and its trace. */
export interface AskedByMetadata extends Traced {
  readonly floor: RevisionFloor | undefined;
  readonly requireLeader: boolean;
}

const NOTHING_ASKED: AskedByMetadata = { floor: undefined, requireLeader: false };

/** The values found so far, and the shape of the request. */
class Draft {
  databaseName = '';
  transactionId: string | undefined;
  /** Parts of one message, which may be sent in several. */
  optionParts: Uint8Array[] = [];
  readonly constraints: Constraint[] = [];
  constraintCount = 0;
  readonly events: Uint8Array[] = [];
  eventCount = 0;
  eventBytes = 0;
  readonly faults = new Faults();
  hasTransaction = false;
  hasDirectFields = false;
}

/** Throws invalid_argument when the bytes are not a request, or a request in both shapes at once. */
export function parseTransactRequest(bytes: Uint8Array, asked: AskedByMetadata = NOTHING_ASKED): TransactRequest {
  const draft = new Draft();
  walk(new ProtoReader(bytes), draft, readField);
  if (draft.hasTransaction && draft.hasDirectFields) throw bothShapes();
  const { databaseName, transactionId, constraints, events, eventCount, eventBytes, faults } = draft;
  const fields = draft.hasTransaction ? TRANSACTION_FIELDS : DIRECT_FIELDS;
  const prefix = draft.hasTransaction ? 'transaction.' : '';
  if (draft.constraintCount > CONSTRAINTS_MAX) {
    faults.add(fields.constraints, `must be at most ${CONSTRAINTS_MAX}`, draft.constraintCount);
  }
  const options =
    draft.optionParts.length === 0
      ? NO_OPTIONS
      : (decodeTransactionOptions(concatBytes(draft.optionParts), `${prefix}options`, faults) ?? NO_OPTIONS);
  return {
    databaseName,
    transactionId,
    floor: asked.floor,
    requireLeader: asked.requireLeader,
    span: asked.span,
    origin: ORIGIN.GRPC_TRANSACTION,
    options,
    constraints,
    events,
    eventCount,
    eventBytes,
    faults,
    fields,
  };
}

function walk(reader: ProtoReader, draft: Draft, take: (reader: ProtoReader, tag: number, draft: Draft) => void): void {
  while (!reader.done) {
    const fieldStart = reader.at;
    take(reader, reader.tag(), draft);
    if (reader.failed)
      throw notTheMessage('cairn.v1.TransactRequest', brokenField(reader.bytes, fieldStart, reader.end));
  }
}

function readField(reader: ProtoReader, tag: number, draft: Draft): void {
  if (tag === TAG.TRANSACTION) {
    draft.hasTransaction = true;
    const start = reader.lengthDelimited();
    if (!reader.failed) walk(new ProtoReader(reader.bytes, start, reader.at), draft, readInnerField);
    return;
  }
  if (tag === TAG.DATABASE_NAME) {
    draft.databaseName = readText(reader, 'database_name');
    return;
  }
  draft.hasDirectFields ||= tag === TAG.CLOUD_EVENT || (tag >= TAG.CONSTRAINT && tag <= TAG.OPTIONS && tag % 8 === 2);
  if (tag === TAG.CLOUD_EVENT) readEvent(reader, draft, DIRECT_EVENTS);
  else if (tag === TAG.CONSTRAINT) readConstraint(reader, draft, DIRECT_FIELDS.constraints);
  else if (tag === TAG.TRANSACTION_ID) draft.transactionId = readText(reader, DIRECT_FIELDS.transactionId);
  else if (tag === TAG.OPTIONS) draft.optionParts.push(readMessage(reader));
  else refuseField(reader, tag, { field: '', type: 'cairn.v1.TransactRequest', faults: draft.faults });
}

function readInnerField(reader: ProtoReader, tag: number, draft: Draft): void {
  if (tag === INNER_TAG.EVENT) readEvent(reader, draft, TRANSACTION_EVENTS);
  else if (tag === INNER_TAG.CONSTRAINT) readConstraint(reader, draft, TRANSACTION_FIELDS.constraints);
  else if (tag === INNER_TAG.TRANSACTION_ID) draft.transactionId = readText(reader, TRANSACTION_FIELDS.transactionId);
  else if (tag === INNER_TAG.OPTIONS) draft.optionParts.push(readMessage(reader));
  else refuseField(reader, tag, { field: 'transaction', type: 'cairn.v1.Transaction', faults: draft.faults });
}

function readEvent(reader: ProtoReader, draft: Draft, { accept, list, shape }: EventReading): void {
  const start = reader.lengthDelimited();
  if (reader.failed) return;
  const index = draft.eventCount++;
  if (index >= TRANSACTION_EVENTS_MAX) {
    // An empty event has two bytes, and there may be a million: their number alone is refused.
    draft.eventBytes += reader.at - start;
    return;
  }
  const event = accept(reader.bytes, start, reader.at, { faults: draft.faults, list, index, shape });
  draft.eventBytes += event === undefined ? reader.at - start : event.length;
  if (event !== undefined) draft.events.push(event);
}

function readConstraint(reader: ProtoReader, draft: Draft, list: string): void {
  const message = readMessage(reader);
  const index = draft.constraintCount++;
  if (reader.failed || index >= CONSTRAINTS_MAX) return;
  const constraint = decodeConstraint(message, `${list}[${index}]`, draft.faults);
  if (constraint !== undefined) draft.constraints.push(constraint);
}

function readText(reader: ProtoReader, field: string): string {
  const start = reader.lengthDelimited();
  // A truncated text is empty: the walk reports the end of the message.
  const text = reader.failed ? '' : decodeUtf8(reader.bytes, start, reader.at);
  if (text !== undefined) return text;
  const faults = new Faults();
  faults.add(field, 'must be well-formed UTF-8', foundBytes(reader.bytes, start, reader.at));
  throw faults.toError('The request is malformed');
}

function bothShapes(): DatabaseError {
  const faults = new Faults();
  faults.add('transaction', 'must be absent when events, constraints, transaction_id or options are given directly');
  return faults.toError('The request has both shapes');
}
