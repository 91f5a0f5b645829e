/**
 * #transport: the interfaces of a node, each in a folder of its own.
 *
 * For: turning calls and requests into operations of #service and back, each transport in the words of its protocol,
 * with the errors of Cairn as its statuses, and the bounds that keep a client from costing more than its share.
 *
 * Not here: what an operation does, and anything that two transports would share: they do not know each other.
 *
 * Invariants of gRPC:
 *   T1  A call ends exactly once, with one status; what is sent afterwards is dropped, and its signal is aborted.
 *   T2  However a request is cut into frames, a handler sees whole messages; however many messages a reply has, each
 *       leaves in a frame of its own.
 *   T3  A message is bounded by the limit after it is unpacked, not only before.
 *   T4  A reader that does not read holds two slices of its stream and nobody else.
 *   T5  Every error code has one status, and the details of an error fit into trailers.
 *   T6  What is wrong inside a transaction is collected for the service, which judges it in its turn; only bytes that are
 *       no request, or two at once, are refused before.
 *   T7  Bytes that are not the message are invalid_argument and say where; never is a text repaired or a number rounded.
 */
export { GRPC_LIMITS, type GrpcServer, type GrpcServerOptions, startGrpcServer } from './grpc/index.ts';
export { type AllowedOrigins, type HttpServer, type HttpServerOptions, startHttpServer } from './http/index.ts';
