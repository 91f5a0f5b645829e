/**
 * Requests and replies of the methods that the generated code serves: strict in, framed out.
 *
 * The generated decoder would replace what is not UTF-8; here that is invalid_argument, like any other bytes that are not
 * the message (T7).
 */
import { BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire';
import { DatabaseError, decodeUtf8, ProtoReader } from '#base';
import { frame } from './wire/framing.ts';

/** What the generated code offers of a message. */
export interface MessageType<Message> {
  decode(input: BinaryReader): Message;
  encode(message: Message): BinaryWriter;
}

/** Throws invalid_argument unless the bytes are a message of the type. */
export function decodeRequest<Message>(
  type: Pick<MessageType<Message>, 'decode'>,
  name: string,
  bytes: Uint8Array,
): Message {
  assertFields(name, bytes);
  try {
    return type.decode(new BinaryReader(bytes, strictUtf8));
  } catch (cause) {
    throw notTheMessage(name, cause instanceof Error ? cause.message : String(cause));
  }
}

/** Throws unless the bytes are fields in a row, which the generated decoder does not insist on. */
function assertFields(name: string, bytes: Uint8Array): void {
  const reader = new ProtoReader(bytes);
  while (!reader.done) {
    const fieldStart = reader.at;
    reader.skipField(reader.tag());
    if (reader.failed) throw notTheMessage(name, `the field at byte ${fieldStart} is not protobuf`);
  }
}

export function notTheMessage(name: string, why: string): DatabaseError {
  return new DatabaseError('invalid_argument', `The message is not a cairn.v1.${name}: ${why}`);
}

export function frameReply<Message>(type: Pick<MessageType<Message>, 'encode'>, message: Message): Uint8Array {
  return frame(type.encode(message).finish());
}

function strictUtf8(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new TypeError('a string is not UTF-8');
  return text;
}
