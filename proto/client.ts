/** Clients of grpc-js for the services in `proto/gen`, for tests and examples. */
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  type ClientUnaryCall,
  makeGenericClientConstructor,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Duplex, ServerStream, Unary } from './service.ts';

export type ClientOf<Service> = Client & { readonly [Name in keyof Service]: CallOf<Service[Name]> };

type CallOf<Method> =
  Method extends Unary<infer Request, infer Reply>
    ? (request: Request, done: (error: ServiceError | null, reply: Reply) => void) => ClientUnaryCall
    : Method extends ServerStream<infer Request, infer Reply>
      ? (request: Request) => ClientReadableStream<Reply>
      : Method extends Duplex<infer Request, infer Reply>
        ? () => ClientDuplexStream<Request, Reply>
        : never;

/** A client that connects at its first call. `address` is host:port. */
export function clientOf<Service extends ServiceDefinition>(
  service: Service,
  address: string,
  by: ChannelCredentials,
  options?: ClientOptions,
): ClientOf<Service> {
  const Generic = makeGenericClientConstructor(service, '');
  return new Generic(address, by, options) as unknown as ClientOf<Service>;
}
