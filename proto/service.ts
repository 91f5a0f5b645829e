/** Methods of the services in `proto/gen`: the path, and the codec of the messages. Fits clients of grpc-js. */
import type { MessageType } from './message.ts';

export interface Method<
  Request,
  Reply,
  IsStreamed extends boolean = boolean,
  IsAnsweredByStream extends boolean = boolean,
> {
  readonly path: string;
  readonly requestStream: IsStreamed;
  readonly responseStream: IsAnsweredByStream;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (reply: Reply) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Reply;
}

export type Unary<Request, Reply> = Method<Request, Reply, false, false>;
export type ServerStream<Request, Reply> = Method<Request, Reply, false, true>;
export type Duplex<Request, Reply> = Method<Request, Reply, true, true>;

export function unary<Request, Reply>(
  path: string,
  request: MessageType<Request>,
  reply: MessageType<Reply>,
): Unary<Request, Reply> {
  return { path, requestStream: false, responseStream: false, ...codecs(request, reply) };
}

export function serverStream<Request, Reply>(
  path: string,
  request: MessageType<Request>,
  reply: MessageType<Reply>,
): ServerStream<Request, Reply> {
  return { path, requestStream: false, responseStream: true, ...codecs(request, reply) };
}

export function duplex<Request, Reply>(
  path: string,
  request: MessageType<Request>,
  reply: MessageType<Reply>,
): Duplex<Request, Reply> {
  return { path, requestStream: true, responseStream: true, ...codecs(request, reply) };
}

function codecs<Request, Reply>(
  request: MessageType<Request>,
  reply: MessageType<Reply>,
): Omit<Method<Request, Reply>, 'path' | 'requestStream' | 'responseStream'> {
  return {
    requestSerialize: (message) => Buffer.from(request.encode(message).finish()),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (message) => Buffer.from(reply.encode(message).finish()),
    responseDeserialize: (bytes) => reply.decode(bytes),
  };
}
