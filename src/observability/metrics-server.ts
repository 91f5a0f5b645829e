/**
 * The scrape endpoint: `GET /metrics` on a port of its own, so that a busy or shut client port never hides a node
 * from its operators.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseError } from '#base';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

// An import of it would also load what it offers lazily: a client for the web.
const { createServer } = process.getBuiltinModule('node:http');

export interface MetricsServer {
  readonly address: AddressInfo;
  close(): Promise<void>;
}

const PATH = '/metrics';

/**
 * Listens on `host` and `port` (0: a free one).
 * @throws DatabaseError `unavailable` when the address cannot be had.
 */
export async function startMetricsServer(options: {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    answer(request, response, options.metrics).catch((error: unknown) => {
      options.logger.error('metrics-scrape-failed', { error });
      response
        .writeHead(500, { 'content-type': 'text/plain' })
        .end('The metrics could not be collected; see the log.\n');
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const where = `${options.host}:${options.port}`;
      reject(new DatabaseError('unavailable', `Cannot listen for metrics on ${where}: ${cause.message}.`, { cause }));
    });
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a TCP address');
  return {
    address,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, metrics: Metrics): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0];
  if (path !== PATH) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end(`Nothing at ${path}; the metrics are at ${PATH}.\n`);
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain' }).end('Only GET and HEAD.\n');
    return;
  }
  const { contentType, body } = await metrics.render();
  response.writeHead(200, { 'content-type': contentType }).end(request.method === 'HEAD' ? undefined : body);
}
