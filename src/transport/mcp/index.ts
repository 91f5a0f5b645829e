/**
 * The MCP endpoint: agents read and write what the HTTP API serves, by three tools and five kinds of resources.
 *
 * ```
 *   agent ── POST / ──> server.ts ──> sessions.ts   revisions up to 2025-11-25: a session each
 *                                └──> endpoint.ts   2026-07-28: each request by itself
 *                            └──> relaying.ts       a session of another node: that one answers (ADR 0121, TC5, TC6)
 *                          endpoint.ts ──> tools.ts, resources.ts ──> api.ts ── HTTP on loopback ──> the HTTP API
 * ```
 *
 * For: the protocol by its own library, sessions and their end, and the bounds on all of it.
 * Not here: what a request does. It is one of HTTP, with the Authorization of whoever asks, so that everything that
 * holds there holds here (ADR 0121).
 *
 * Invariants:
 *   TC1  No tool reaches anything but paths of this node's HTTP API.
 *   TC2  A session is no credential: each of its requests is judged by its own Authorization, acts with it, and is
 *        refused unless its principal is the one that began the session.
 *   TC3  What a client may hold is bounded: the bytes of bodies together with those of the other transports, sessions in
 *        number and by principal, what a session keeps for those who come back, and the bytes of an answer.
 *   TC4  Nothing of the protocol's library is loaded before the first request.
 *   TC8  A tool relays the bytes of its arguments as they were sent.
 *   TC9  Every answer goes to its own request: a session refuses an id that is in flight.
 *   TC7  Where the endpoint is, and whose tokens count there, is said by the settings and by nothing that a request has
 *        (ADR 0121).
 */
export { type McpServer, type McpServerOptions, startMcpServer } from './server.ts';
