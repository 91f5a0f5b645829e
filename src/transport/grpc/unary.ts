/** Unary methods whose replies are encoded by generated code, and those replies in their frames. */
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { ReadScope } from '#service';
import type { Requests } from '../../../proto/gen/requests.ts';
import { reading } from '../request-reader.ts';
import { EVENT_STORE, type GrpcContext, ledWrite, type RepliedScope, scopeHeaders, writeOf } from './metadata.ts';
import type { Call } from './wire/call.ts';
import { frame } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';
import type { Fields } from './wire/status.ts';

export interface Answer<Reply> {
  readonly message: Reply;
  readonly scope?: RepliedScope | ReadScope;
  readonly trailers?: Fields | undefined;
}

export interface UnaryShape<Request, Reply> {
  readonly name: string;
  /** Throws invalid_argument for malformed requests. Bytes of the result may be views of the message. */
  readonly parse: (bytes: Uint8Array) => Request;
  readonly reply: MessageType<Reply>;
  readonly traits?: Pick<UnaryMethod, 'mustAnswer' | 'namesLeader' | 'waits' | 'messageBytesMax'>;
}

export const UNARY: Pick<UnaryMethod, 'kind' | 'service'> = { kind: 'unary', service: EVENT_STORE };

/** Traits of a write that a leader commits. */
export const WRITE = { mustAnswer: true, namesLeader: true } as const;

/** Name of a method whose request is read by its fields. */
type ReadName = keyof { [Type in keyof Requests as Type extends `cairn.v1.${infer Name}Request` ? Name : never]: true };

/** A shape whose request follows from its name. */
export function shape<Name extends ReadName, Reply>(
  name: Name,
  reply: MessageType<Reply>,
  traits: NonNullable<UnaryShape<never, Reply>['traits']> = {},
): UnaryShape<Requests[`cairn.v1.${Name}Request`], Reply> {
  return { name, parse: reading(`cairn.v1.${name}Request`), reply, traits };
}

export function unary<Request, Reply>(
  { name, parse, reply, traits }: UnaryShape<Request, Reply>,
  answer: (request: Request, call: Call) => Promise<Answer<Reply>>,
): UnaryMethod {
  const handle = async (call: Call, bytes: Uint8Array): Promise<void> => {
    const { message, scope, trailers } = await answer(parse(bytes), call);
    const headers = scope && scopeHeaders(scope);
    call.reply(frameReply(reply, message), { headers, trailers });
  };
  return { ...UNARY, name, ...traits, handle };
}

/** A write to a database, whose reply and refusals name the leader. */
export function write<Request extends { readonly databaseName: string }, Reply>(
  { service, leaderTrailers }: GrpcContext,
  asked: UnaryShape<Request, Reply>,
  answer: (request: Request & ReturnType<typeof writeOf>, call: Call) => Promise<Answer<Reply>>,
): UnaryMethod {
  return unary({ ...asked, traits: { ...asked.traits, ...WRITE } }, async (sent, call) => {
    const { databaseName } = sent;
    const request = { ...sent, ...writeOf(call) };
    const answered = await ledWrite(service, databaseName, () => answer(request, call));
    return { ...answered, trailers: leaderTrailers.of(databaseName) };
  });
}

export interface MessageType<Message> {
  encode(message: Message, writer?: BinaryWriter): BinaryWriter;
}

/** google.protobuf.Empty. */
export const EMPTY: MessageType<object> = { encode: (_message, into = new BinaryWriter()) => into };

/** Its memory is used again for the next reply. Undefined: the last reply was long, or was not encoded. */
let writer: BinaryWriter | undefined;
const WRITER_BYTES_MAX = 64 * 1024;

export function frameReply<Message>(type: MessageType<Message>, message: Message): Uint8Array {
  const used = writer ?? new BinaryWriter();
  writer = undefined;
  const framed = frame(type.encode(message, used).finish());
  if (framed.length <= WRITER_BYTES_MAX) writer = used;
  return framed;
}
