/**
 * #transport: the interfaces of a node, each in a folder of its own.
 *
 * For: turning calls and requests into operations of #service and back, each transport in the words of its protocol,
 * with the errors of Cairn as its statuses, and the bounds that keep a client from costing more than its share.
 * Not here: what an operation does. They share budgets (byte-budgets.ts, rate-limits.ts), and whom to ask (relay.ts).
 *
 * Invariants of all transports (TM5, TM6 and TM8 stand in relay.ts, TM7 in rate-limits.ts):
 *   TM1  Requests, replies and standing streams are counted before they are held: the node holds what its settings
 *        allow, the shares beside it (byte-budgets.ts), and what one slice, page or reply of a write overshoots.
 *   TM2  A client is cut off for holding bytes only while others wait, and not before it had its time: a part of it if it
 *        has more than they and takes, or brings, nothing. Except bodies and answers that stand still (ADR 0015).
 *   TM3  What a request announces is not counted: it holds what has arrived of it.
 *   TM4  Readers that keep what they took of the unsent bytes, however many, do not hold up small slices, which need no
 *        room, small pages, which have their own, nor one that lets go soon: for such a quarter is kept, of which a
 *        connection has one hold or several small ones, and lines take turns.
 *
 * Invariants of gRPC (T9 to T13 stand in shares.ts, rounds.ts, stream-limits.ts and reading-turns.ts of grpc/wire):
 *   T1  A call ends exactly once, with one status; what is sent afterwards is dropped, and its signal is aborted.
 *   T2  However a request is cut into frames, a handler sees whole messages; however many messages a reply has, each
 *       leaves in a frame of its own.
 *   T3  A message is bounded by the limit after it is unpacked, not only before.
 *   T4  A reader that does not read holds a small slice, or two larger ones for which there was room, no longer than
 *       the patience while others wait. A stream of reflection holds one reply and 64 KiB of requests.
 *   T5  Every error code has one status, and the details of an error fit into trailers.
 *   T6  What is wrong inside a transaction is collected for the service, which judges it in its turn; only bytes that
 *       are no request, or two at once, are refused before.
 *   T7  Bytes that are no such message are invalid_argument and say where; no text is repaired, no number rounded.
 *   T8  A stream of HTTP/2 that nobody needs any more is gone after a bounded time, whatever its peer does.
 */
export type { Access } from './access.ts';
export { type ByteBudgetSizes, type ByteBudgets, createByteBudgets } from './byte-budgets.ts';
export { FrameFloods, headBytes } from './frame-floods.ts';
export {
  type GrpcServer,
  type GrpcServerOptions,
  HolderLists,
  type OutsideAddresses,
  startGrpcServer,
} from './grpc/index.ts';
export type { HeldPort } from './held-port.ts';
export { type AllowedOrigins, type HttpServer, type HttpServerOptions, startHttpServer } from './http/index.ts';
export { type McpServer, type McpServerOptions, startMcpServer } from './mcp/index.ts';
export { announceSettings, NO_HPACK_TABLE } from './opening.ts';
export { RateLimits } from './rate-limits.ts';
export { RELAYED, Relay } from './relay.ts';
export { type Dial, dialWith, type SecurePorts } from './secure.ts';
