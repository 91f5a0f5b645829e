/** Unary methods whose replies are encoded by generated code. */
import type { ReadScope } from '#service';
import { EVENT_STORE } from './context.ts';
import { frameReply, type MessageType } from './messages.ts';
import { type RepliedScope, scopeHeaders } from './metadata.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';
import type { Fields } from './wire/status.ts';

/** Result of a handler. */
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
  readonly traits?: Pick<UnaryMethod, 'mustAnswer' | 'waits' | 'messageBytesMax'>;
}

export function unary<Request, Reply>(
  shape: UnaryShape<Request, Reply>,
  answer: (request: Request, call: Call) => Promise<Answer<Reply>>,
): UnaryMethod {
  const { name, parse, reply, traits } = shape;
  const handle = async (call: Call, bytes: Uint8Array): Promise<void> => {
    const { message, scope, trailers } = await answer(parse(bytes), call);
    const headers = scope && scopeHeaders(scope);
    call.reply(frameReply(reply, message), { headers, trailers });
  };
  return { kind: 'unary', service: EVENT_STORE, name, ...traits, handle };
}
