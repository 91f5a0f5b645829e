/** The server of node:http beneath fastify, with the bounds on its requests. */
import type { RequestListener, Server } from 'node:http';
import { logErrors } from '#base';
import type { ServerOptions } from '../server-options.ts';
import {
  HEADER_BYTES_MAX,
  HEADERS_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_LOOK_MS,
} from './limits.ts';

// An import would also load the WebSocket client of node:http, which is lazy otherwise.
const { createServer } = process.getBuiltinModule('node:http');

/** The port in messages and logs. */
export const PORT = { what: 'HTTP', setting: '--http-port' } as const;

export function createHttpServer(
  listener: RequestListener,
  { secure, logger }: Pick<ServerOptions, 'secure' | 'logger'>,
): Server {
  const options = {
    maxHeaderSize: HEADER_BYTES_MAX,
    requireHostHeader: false,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_LOOK_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  };
  const server = (secure?.createHttpServer ?? createServer)(options, listener);
  server.maxHeadersCount = HEADERS_MAX;
  logErrors(server, PORT, logger);
  return server;
}
