/**
 * What a server offers: methods by path, each with the way its handler is called.
 *
 * A handler takes the bytes of a message and answers on the call. It may throw or reject: the server turns that into
 * the status that ends the call.
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

/** Any number of messages in and out, each way at its own pace. */
export interface DuplexMethod extends MethodTraits {
  readonly kind: 'bidi_stream';
  /** Called when the stream is opened. The handler ends the call. */
  readonly open: (call: Call) => RequestListener;
}

/** Receives the messages of one call, in order. */
export interface RequestListener {
  message(message: Uint8Array): void;
  /** The client sends no more. */
  end(): void;
}

/** A method whose handler gets one message. */
export type Method = UnaryMethod | ServerStreamMethod;
