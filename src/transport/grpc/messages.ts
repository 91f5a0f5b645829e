/** Messages that the generated code writes. */
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { frame } from './wire/framing.ts';

/** The encoder of a generated type. */
export interface MessageType<Message> {
  encode(message: Message): BinaryWriter;
}

/** google.protobuf.Empty. */
export const EMPTY: MessageType<object> = { encode: () => new BinaryWriter() };

export function frameReply<Message>(type: MessageType<Message>, message: Message): Uint8Array {
  return frame(type.encode(message).finish());
}
