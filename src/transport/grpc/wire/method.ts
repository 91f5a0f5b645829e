/**
 * Methods of a server by path, each with the signature of its handler.
 *
 * A handler takes the bytes of a message and answers on the call. When it throws or rejects, the server ends the call
 * with the matching status.
 */
import type { Call } from './call.ts';
import type { MethodTraits } from './method-traits.ts';

/** One message in, one out. The handler calls `reply` or `finish`, at once or later. */
export interface UnaryMethod extends MethodTraits {
  readonly kind: 'unary';
  readonly handle: (call: Call, message: Uint8Array) => void | Promise<void>;
}

/** One message in, many out. The call ends with OK when the handler's promise resolves. */
export interface ServerStreamMethod extends MethodTraits {
  readonly kind: 'server_stream';
  readonly handle: (call: Call, message: Uint8Array) => Promise<void>;
}

/** Any number of messages in both directions. The call ends with OK when the handler's promise resolves. */
export interface DuplexMethod extends MethodTraits {
  readonly kind: 'bidi_stream';
  /** Maximum bytes of all requests of a stream. */
  readonly streamBytesMax: number;
  readonly handle: (call: Call, requests: AsyncIterable<Uint8Array>) => Promise<void>;
}

/** A method whose handler receives one message. */
export type Method = UnaryMethod | ServerStreamMethod;
