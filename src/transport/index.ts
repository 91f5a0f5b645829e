/**
 * #transport: the interfaces of a node, each in a folder of its own.
 *
 * For: turning requests of each protocol into operations of #service and back, errors into statuses, and bounding the
 * memory, connections and time that one client can cost. DESIGN.md has a picture.
 * Not here: what an operation does. Servers share budgets (byte-budgets.ts, rate-limits.ts) and relaying (relay.ts). A
 * slow reader is cut off in memory-budget.ts, and by time in http-connections.ts and grpc/wire/call-stream.ts.
 *
 * Invariants of all transports (TM5, TM6 and TM8 are in relay.ts, TM7 is in rate-limits.ts):
 *   TM1  Requests, replies and open streams are counted before they are held. The node holds what its settings allow,
 *        the shares beside it (byte-budgets.ts), and one slice, page or reply to a write beyond that.
 *   TM2  A client is cut off for holding bytes only while others wait, and only after a time without progress. Stalled
 *        bodies and replies are an exception (ADR 0015).
 *   TM3  Bytes that a request announces are not counted, only those that have arrived.
 *   TM4  Slow readers of unsent bytes, however many, delay neither small slices, which need no room, nor small replies,
 *        which have a budget of their own, nor quick readers, which have a quarter that others do not get.
 *
 * Invariants of gRPC (T10 is in work-queue.ts; T9 and T12 in shares.ts and stream-limits.ts):
 *   T1  A call ends exactly once, with one status; later output is dropped, and its signal is aborted.
 *   T2  However a request is cut into frames, a handler sees whole messages; each message of a reply has a frame of its
 *       own.
 *   T3  The size limit holds for a message after decompression, too.
 *   T4  A reader that does not read holds a small slice, or two larger ones for which there was room, no longer than
 *       the timeout while others wait. A stream of reflection holds one reply and 64 KiB of requests.
 *   T5  Every error code has one status, and the details of an error fit into trailers.
 *   T6  Faults inside a transaction are collected for the service, which checks them in its order. Only bytes that are
 *       not one request are refused earlier.
 *   T7  Bytes that are not the message are invalid_argument with the position; no text is repaired, no number rounded.
 *   T8  An HTTP/2 stream that is no longer needed is gone after a bounded time, whatever its peer does.
 */
export type { Access } from './access.ts';
export { type ByteBudgetSizes, type ByteBudgets, createByteBudgets } from './byte-budgets.ts';
export {
  type GrpcServer,
  type GrpcServerOptions,
  HolderLists,
  type OutsideAddresses,
  startGrpcServer,
} from './grpc/index.ts';
export { type HttpServerOptions, startHttpServer } from './http/index.ts';
export { type McpServerOptions, startMcpServer } from './mcp/index.ts';
export type { AllowedOrigins } from './origins.ts';
export { RateLimits } from './rate-limits.ts';
export { RELAYED, Relay } from './relay.ts';
export { type Dial, dialWith, type SecurePorts } from './secure.ts';
export type { HeldPort, WebServer } from './server-options.ts';
