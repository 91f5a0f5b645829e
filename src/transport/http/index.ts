/**
 * The HTTP API: both route families of the specification over one service, in JSON; reads also as HTML and TOON.
 *
 * For: routing, reading requests without loss, replies with the bytes of stored payloads, redirects, one form of error
 * body, CORS, and a shutdown that lets running requests finish.
 *
 * Not here: what an operation means (#service), who may do what, and what pages look like (#ui).
 * docs/http.md has every route with an example that a test runs.
 *
 * Invariants:
 *   TH1  Every failed request, and bytes that are not a request, are answered with the error body of the specification;
 *        no error text of fastify or Node reaches a client.
 *   TH2  The mapping of error codes is total; statuses and codes are the specification's.
 *   TH3  An error carries no caching header; a redirect carries `no-store`.
 *   TH4  A reply that was read from a database has `x-database-id` and `x-revision`, also when it is an error.
 *   TH5  Payloads pass through byte for byte: none of their numbers is parsed, none of their names is special.
 *   TH6  Every transaction within the limits of the specification fits into a body, however its JSON is spelled.
 *   TH7  When a client disconnects, its work is cancelled; a client that only closed its sending side is answered.
 *   TH8  All pages of one walk show one database instance at one revision.
 *   TH9  A complete request is answered, whatever follows it on its connection and also while the server shuts down.
 *        When too many requests wait before it, it is dropped without effect, and the connection announces its end.
 *   TH10 The requests of a connection are handled one after the other, in order.
 *   TH11 Work on large bodies and replies takes at most a few milliseconds of each event-loop turn.
 *   TH12 A page in any rendering has the data of its JSON, and all its links are answered.
 *   TH13 No text of a client becomes markup of a page, and a page loads nothing from other origins.
 */
export { type HttpServerOptions, startHttpServer } from './server.ts';
