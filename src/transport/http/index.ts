/**
 * The HTTP API: both route families of the specification over one service, in JSON, and reads in TOON.
 *
 * For: routing, reading requests without loss, replies as text with stored payloads spliced in, redirects, one error
 * body for everything that can fail, cross-origin headers, and an end that lets running requests finish.
 *
 * Not here: what an operation means (#service), who may do what. A read says once what it has found, where to read on
 * and what can be done; rendering/ shows it in the form that is asked for.
 * docs/http.md has every route with an example that a test runs.
 *
 * Invariants:
 *   TH1  Every request that fails, and every byte on a socket that is no request, is answered with the error body of
 *        the specification; nothing that fastify or Node would say reaches a client.
 *   TH2  The mapping of error codes is total; statuses and codes are the specification's.
 *   TH3  An error carries no caching header; a redirect carries `no-store`.
 *   TH4  A reply that was read from a database carries `x-database-id` and `x-revision`, also when it is a refusal.
 *   TH5  Payloads pass through as the bytes they are: no number of theirs is parsed, no name of theirs is special.
 *   TH6  Every transaction within the limits of the specification fits into a body, however its JSON is spelled.
 *   TH7  When a client goes away, the work below its request ends; one that has only ended what it sends is answered.
 *   TH8  All pages of one walk show one database instance at one revision.
 *   TH9  A request that was received whole is answered, whatever follows it on its connection and while the server
 *        closes, unless too many others wait before it: then it is not tried, and the connection says that it ends.
 *   TH10 The requests of a connection are handled one after the other, in their order.
 *   TH11 However many large bodies and answers are worked on, the event loop comes round after a few milliseconds of
 *        it.
 *   TH12 A page in any rendering has the data of its JSON, and links to nothing that is not answered.
 *   TH13 In a page of HTML nothing that others wrote is markup, and the page loads nothing from elsewhere.
 */
export type { AllowedOrigins } from './cors.ts';
export { type HttpServer, type HttpServerOptions, startHttpServer } from './server.ts';
