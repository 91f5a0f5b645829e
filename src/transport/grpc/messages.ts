/**
 * Requests and replies of the methods that the generated code serves: strict in, framed out.
 *
 * The generated decoder would replace what is not UTF-8; here that is invalid_argument, like any other bytes that are
 * not the message (T7). It would pass over fields that the message does not have; they are refused (ADR 0156).
 */
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { DatabaseError, decodeUtf8, ProtoReader } from '#base';
import { Faults, MESSAGE_FIELDS_MAX, refuseField, showBytes } from '#model';
import { frame } from './wire/framing.ts';

/** The wire type of fields with a length of their own. */
const LENGTH_DELIMITED = 2;

/** Requests that the generated code reads. */
export type RequestName =
  | 'CreateDatabaseRequest'
  | 'DeleteDatabaseRequest'
  | 'FetchLatestDatabaseRequest'
  | 'FetchDatabaseAtRevisionRequest'
  | 'DatabaseEffectiveAtTimestampRequest'
  | 'AwaitDatabaseRequest'
  | 'FetchTransactionRequest'
  | 'FetchStateViewRequest'
  | 'FetchStateViewAtRevisionRequest'
  | 'IssueApiKeyRequest'
  | 'ListApiKeysRequest'
  | 'FetchApiKeyRequest'
  | 'RotateApiKeyRequest'
  | 'RevokeApiKeyRequest'
  | 'Empty';

/** The fields of each: number times 8 plus wire type. */
export const REQUEST_TAGS: Readonly<Record<RequestName, readonly number[]>> = {
  CreateDatabaseRequest: [0x0a],
  DeleteDatabaseRequest: [0x0a, 0x12],
  FetchLatestDatabaseRequest: [0x0a],
  FetchDatabaseAtRevisionRequest: [0x0a, 0x10],
  DatabaseEffectiveAtTimestampRequest: [0x0a, 0x12],
  AwaitDatabaseRequest: [0x0a, 0x10],
  FetchTransactionRequest: [0x0a, 0x12],
  FetchStateViewRequest: [0x0a, 0x12, 0x1a],
  FetchStateViewAtRevisionRequest: [0x0a, 0x12, 0x1a, 0x20, 0x28, 0x32],
  IssueApiKeyRequest: [0x0a, 0x12, 0x1a, 0x22, 0x2a],
  ListApiKeysRequest: [],
  FetchApiKeyRequest: [0x0a],
  RotateApiKeyRequest: [0x0a, 0x10, 0x1a],
  RevokeApiKeyRequest: [0x0a, 0x12],
  // Of FetchCatalog, and google.protobuf's.
  Empty: [],
};

/** What the generated code offers of a message. */
export interface MessageType<Message> {
  decode(input: BinaryReader): Message;
  encode(message: Message): BinaryWriter;
}

/** google.protobuf.Empty. */
export const EMPTY: MessageType<object> = { decode: () => ({}), encode: () => new BinaryWriter() };

/** Throws invalid_argument unless the bytes are a message of the type. */
export function decodeRequest<Message>(
  type: Pick<MessageType<Message>, 'decode'>,
  name: RequestName,
  bytes: Uint8Array,
): Message {
  assertFields(name, bytes);
  try {
    return type.decode(new BinaryReader(bytes, strictUtf8));
  } catch (cause) {
    if (cause instanceof NotText) throw notTheMessage(name, whereNotText(bytes, cause.bytes));
    throw notTheMessage(name, cause instanceof Error ? cause.message : String(cause));
  }
}

/** How the generated code reads the requests of a method. */
export function decoding<Message>(
  type: Pick<MessageType<Message>, 'decode'>,
  name: RequestName,
): (bytes: Uint8Array) => Message {
  return (bytes) => decodeRequest(type, name, bytes);
}

/** Thrown through the decoder, which does not say what it was reading. */
class NotText extends TypeError {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super('A string is not UTF-8');
    this.bytes = bytes;
  }
}

/** Names the field of the message that holds the text, also when it does so deeper inside. */
function whereNotText(message: Uint8Array, text: Uint8Array): string {
  const end = text.byteOffset + text.length - message.byteOffset;
  const reader = new ProtoReader(message);
  let tag = 0;
  while (reader.at < end && !reader.failed) {
    tag = reader.tag();
    reader.skipField(tag);
  }
  return `field ${Math.floor(tag / 8)} must be well-formed UTF-8; found ${showBytes(text)}`;
}

/** Throws unless the bytes are fields of the message in a row, which the generated decoder does not insist on. */
function assertFields(name: RequestName, bytes: Uint8Array): void {
  const known: readonly number[] = REQUEST_TAGS[name];
  const faults = new Faults();
  walkFields(bytes, name, (reader, tag) => {
    if (known.includes(tag)) reader.skipField(tag);
    else refuseField(reader, tag, { field: '', type: typeName(name), faults });
  });
  faults.throwIfAny('The request is malformed');
}

/** @throws DatabaseError invalid_argument: the bytes are not fields in a row, or are thousands of them */
export function walkFields(bytes: Uint8Array, name: string, take: (reader: ProtoReader, tag: number) => void): void {
  const reader = new ProtoReader(bytes);
  for (let count = 0; !reader.done; count++) {
    if (count === MESSAGE_FIELDS_MAX) throw notTheMessage(name, `it has more than ${MESSAGE_FIELDS_MAX} fields`);
    const fieldStart = reader.at;
    take(reader, reader.tag());
    if (reader.failed) throw notTheMessage(name, brokenField(bytes, fieldStart));
  }
}

/** Says which field is not protobuf, and of one that is cut short by how much. `to` is where its message ends. */
export function brokenField(bytes: Uint8Array, from: number, to: number = bytes.length): string {
  const reader = new ProtoReader(bytes, from, to);
  const tag = reader.tag();
  const fieldBytes = tag % 8 === LENGTH_DELIMITED ? reader.varint() : 0;
  const left = to - reader.at;
  const isCut = !reader.failed && fieldBytes > left;
  const how = isCut ? `: it has ${fieldBytes} bytes by its length, of which ${left} are there` : '';
  return `the field at byte ${from} is not protobuf${how}`;
}

export function notTheMessage(name: string, why: string): DatabaseError {
  return new DatabaseError('invalid_argument', `The message is not a ${typeName(name)}: ${why}`);
}

function typeName(name: string): string {
  return name === 'Empty' ? 'google.protobuf.Empty' : `cairn.v1.${name}`;
}

export function frameReply<Message>(type: Pick<MessageType<Message>, 'encode'>, message: Message): Uint8Array {
  return frame(type.encode(message).finish());
}

function strictUtf8(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new NotText(bytes);
  return text;
}
