/**
 * The MCP endpoint: agents read and write what the HTTP API serves, by three tools and five kinds of resources.
 *
 * ```
 *   agent ── POST / ──> server.ts ──> sessions.ts   versions up to 2025-11-25: a session each
 *                                └──> endpoint.ts   2026-07-28: each request by itself
 *                            └──> relaying.ts       a session of another node: that one answers (ADR 0121, TC5, TC6)
 *                          endpoint.ts ──> tools.ts, resources.ts ──> api.ts ── HTTP on loopback ──> the HTTP API
 * ```
 *
 * For: the protocol by its own library, sessions and their end, and the bounds on all of it.
 * Not here: the operations. A tool sends a request of HTTP with the caller's Authorization, so that all its rules apply
 * (ADR 0121).
 *
 * Invariants:
 *   TC1  No tool reaches anything but paths of this node's HTTP API.
 *   TC2  A session is not a credential: each of its requests is authenticated by its own Authorization, acts with it,
 *        and is refused unless its principal began the session.
 *   TC3  The memory of a client is bounded: the bytes of bodies together with those of the other transports, the number
 *        of sessions in total and by principal, the kept messages of a session, and the bytes of a reply.
 *   TC4  Nothing of the protocol's library is loaded before the first request.
 *   TC7  Only the settings define the URL of the endpoint and the issuer of its tokens, never a request (ADR 0121).
 *   TC8  A tool relays the bytes of its arguments as they were sent.
 *   TC9  Every answer goes to its own request: a session refuses an id that is in flight.
 */
export { type McpServerOptions, startMcpServer } from './server.ts';
