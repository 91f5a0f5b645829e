/**
 * #transport: how callers reach a node. Each folder is one protocol; the protocols do not know one another.
 *
 * For: decoding requests, calling #service, encoding replies, and mapping the errors of #base, each in one total table.
 *
 * Not here: any decision about data. A rule that two protocols share belongs into #model or #service.
 */
export { type AllowedOrigins, type HttpServer, type HttpServerOptions, startHttpServer } from './http/index.ts';
