/** Unary methods whose messages the generated code reads and writes. */

import type { ReadScope } from '#service';
import { EVENT_STORE } from './context.ts';
import { decodeRequest, frameReply, type MessageType, type RequestName } from './messages.ts';
import { type RepliedScope, scopeHeaders } from './metadata.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';
import type { Fields } from './wire/status.ts';

/** What a handler answers with. */
export interface Answer<Reply> {
  readonly message: Reply;
  readonly scope?: RepliedScope | ReadScope;
  readonly trailers?: Fields | undefined;
}

export interface UnaryShape<Request, Reply> {
  readonly name: string;
  readonly request: Pick<MessageType<Request>, 'decode'>;
  /** Name of the request's type, for whoever sent something else. */
  readonly requestName: RequestName;
  readonly reply: Pick<MessageType<Reply>, 'encode'>;
  /** As of `MethodTraits`. */
  readonly mustAnswer?: boolean;
  readonly waits?: boolean;
}

export function unary<Request, Reply>(
  shape: UnaryShape<Request, Reply>,
  answer: (request: Request, call: Call) => Promise<Answer<Reply>>,
): UnaryMethod {
  const { name, request, requestName, reply, mustAnswer = false, waits = false } = shape;
  const handle = async (call: Call, bytes: Uint8Array): Promise<void> => {
    const { message, scope, trailers } = await answer(decodeRequest(request, requestName, bytes), call);
    const headers = scope && scopeHeaders(scope);
    call.reply(frameReply(reply, message), { headers, trailers });
  };
  return { kind: 'unary', service: EVENT_STORE, name, mustAnswer, waits, handle };
}
