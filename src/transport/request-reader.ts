/**
 * Reads protobuf requests by the fields of their proto files. Every fault has the path of its field.
 *
 * Text must be UTF-8 (T7), and fields that a message does not have are refused (ADR 0156). The last of several
 * occurrences of a field counts. Bytes are views of the request.
 */
import { DatabaseError, type Instant, NO_BYTES, ProtoReader } from '#base';
import {
  type FaultPlace,
  Faults,
  instantOfTimestamp,
  MESSAGE_FIELDS_MAX,
  mergeTimestamp,
  refuseField,
  type SentTimestamp,
  showTimestamp,
  TIMESTAMP_RULE,
  textField,
} from '#model';
import { REQUEST_FIELDS, type RequestField, type Requests, type ScalarType } from '../../proto/gen/requests.ts';

/** Wire type of fields with a length of their own. */
const LENGTH_DELIMITED = 2;

/** The field is the path of the message; empty for the request itself. */
interface Place extends FaultPlace {
  /** Shared by all messages inside the request. */
  readonly budget: FieldBudget;
}

interface FieldBudget {
  /** Number of remaining fields. */
  left: number;
}

/** Returns a reader of one type. @throws DatabaseError invalid_argument: it is not such a message, or has a fault */
export function reading<Name extends keyof Requests>(type: Name): (message: Uint8Array) => Requests[Name] {
  return (message) => {
    const faults = new Faults();
    const request = readRequest(type, message, faults);
    faults.throwIfAny('The request is malformed');
    return request;
  };
}

/**
 * Reads a request and adds its faults; a value at fault is replaced by one of its type.
 * @throws DatabaseError invalid_argument: the bytes are not such a message, or have thousands of fields
 */
export function readRequest<Name extends keyof Requests>(
  type: Name,
  message: Uint8Array,
  faults: Faults,
): Requests[Name];
export function readRequest(type: keyof Requests, message: Uint8Array, faults: Faults): unknown {
  return readFields(type, message, { field: '', faults, budget: { left: MESSAGE_FIELDS_MAX } });
}

function readFields(type: keyof Requests, message: Uint8Array, { field, faults, budget }: Place): unknown {
  const fields = REQUEST_FIELDS[type];
  const values: Record<string, unknown> = {};
  for (const each of Object.values(fields)) values[each.key] = absent(each);
  const take = (reader: ProtoReader, tag: number): void => {
    const known = fields[tag];
    if (known === undefined) {
      refuseField(reader, tag, { field, type, faults });
      return;
    }
    const path = field === '' ? known.name : `${field}.${known.name}`;
    const list = values[known.key];
    if (!Array.isArray(list)) values[known.key] = readValue(reader, known, { field: path, faults, budget });
    else list.push(readValue(reader, known, { field: `${path}[${list.length}]`, faults, budget }));
  };
  walkFields(message, type, take, budget);
  return values;
}

interface Scalar {
  readonly absent: unknown;
  readonly read: (reader: ProtoReader, place: Place) => unknown;
}

const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  string: { absent: '', read: (reader, { field, faults }) => readText(reader, field, faults) },
  bytes: { absent: NO_BYTES, read: readMessage },
  bool: { absent: false, read: (reader) => Number(reader.uint64()) !== 0 },
  uint64: { absent: 0, read: (reader) => reader.uint64() },
  uint32: { absent: 0, read: readUint32 },
  enum: { absent: 0, read: (reader) => reader.uint64() },
  timestamp: { absent: undefined, read: (reader) => mergeTimestamp(reader) ?? reader.fail() },
};

function isScalar(type: RequestField['type']): type is ScalarType {
  return type in SCALARS;
}

function absent({ type, presence }: RequestField): unknown {
  if (presence !== 'always') return presence === 'list' ? [] : undefined;
  return isScalar(type) ? SCALARS[type].absent : readRequest(type, NO_BYTES, new Faults());
}

function readValue(reader: ProtoReader, { type }: RequestField, place: Place): unknown {
  if (isScalar(type)) return SCALARS[type].read(reader, place);
  const message = readMessage(reader);
  return reader.failed ? undefined : readFields(type, message, place);
}

const UINT32_MAX = 2 ** 32 - 1;

function readUint32(reader: ProtoReader, { field, faults }: Place): number {
  const value = reader.uint64();
  if (typeof value === 'number' && value <= UINT32_MAX) return value;
  faults.add(field, 'must be an integer from 0 to 2^32 - 1', value);
  return 0;
}

/** The bytes of a field: a view. */
export function readMessage(reader: ProtoReader): Uint8Array {
  return reader.view();
}

export function readText(reader: ProtoReader, field: string, faults: Faults): string {
  return textField(reader, field, faults) ?? '';
}

/** @throws DatabaseError invalid_argument: the bytes are not a sequence of fields, or thousands of them */
export function walkFields(
  bytes: Uint8Array,
  type: string,
  take: (reader: ProtoReader, tag: number) => void,
  budget: FieldBudget = { left: MESSAGE_FIELDS_MAX },
): void {
  const reader = new ProtoReader(bytes);
  while (!reader.done) {
    if (budget.left === 0) throw notTheMessage(type, `it has more than ${MESSAGE_FIELDS_MAX} fields`);
    budget.left--;
    const fieldStart = reader.at;
    take(reader, reader.tag());
    if (reader.failed) throw notTheMessage(type, brokenField(bytes, fieldStart));
  }
}

/** Names the field that is not protobuf, and the missing bytes of a truncated one. `to` is the end of its message. */
export function brokenField(bytes: Uint8Array, from: number, to: number = bytes.length): string {
  const reader = new ProtoReader(bytes, from, to);
  const tag = reader.tag();
  const fieldBytes = tag % 8 === LENGTH_DELIMITED ? reader.varint() : 0;
  const left = to - reader.at;
  const isCut = !reader.failed && fieldBytes > left;
  const how = isCut ? `: it has ${fieldBytes} bytes by its length, of which ${left} are there` : '';
  return `the field at byte ${from} is not protobuf${how}`;
}

export function notTheMessage(type: string, why: string): DatabaseError {
  return new DatabaseError('invalid_argument', `The message is not a ${type}: ${why}`);
}

/** The message in these bytes, by generated code; undefined when they are none. */
export function decoded<Message>(type: { decode(bytes: Uint8Array): Message }, bytes: Uint8Array): Message | undefined {
  try {
    return type.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A time that a request must name. @throws DatabaseError invalid_argument: it is missing or not a valid time */
export function sentInstant(timestamp: SentTimestamp | undefined, field: string): Instant {
  const faults = new Faults();
  const instant =
    timestamp === undefined ? faults.add(field, 'is required') : instantFrom(timestamp, { field, faults });
  if (instant !== undefined) return instant;
  throw faults.toError('The request is malformed');
}

/** The time, or undefined with the fault added. */
export function instantFrom(timestamp: SentTimestamp, { field, faults }: FaultPlace): Instant | undefined {
  return instantOfTimestamp(timestamp) ?? faults.add(field, TIMESTAMP_RULE, showTimestamp(timestamp));
}
