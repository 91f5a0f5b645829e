/**
 * The scrape endpoint: `GET /metrics` on a separate port, so that a busy or closed client port never hides a node from
 * its operators. It also answers the probes of a kubelet, because the port is open before recovery.
 *
 * On loopback it refuses a Host that is not of loopback, as the HTTP port does, except for probes.
 *
 * The port runs on the thread that serves clients, so a flood of scrapes must not block it: there is one rendering at a
 * time, shared by all scrapes and cached for a second. A connection may send one request and lasts at most 10 s.
 */
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen, quote } from '#base';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { answerProbe, PROBE_PATHS, type Probes } from './probes.ts';

// An import would also load the lazy parts of the module, such as the HTTP client.
const { createServer } = process.getBuiltinModule('node:http');

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly probes: Probes;
  readonly logger: Logger;
  /** Time for which a rendering is cached; 1,000 by default. */
  readonly keptMs?: number;
  /** Maximum duration of a connection; 10,000 by default. */
  readonly connectionMs?: number;
  /** Maximum number of connections, 32 by default; one more closes the oldest. */
  readonly connectionsMax?: number | undefined;
  /** Replaces the server of node:http, for TLS. */
  readonly create?: CreateServer | undefined;
}

type CreateServer = (options: ServerOptions, listener: RequestListener) => Server;

const PATHS = ['/metrics', ...PROBE_PATHS];
/** Scrape intervals are seconds. */
const KEPT_MS = 1000;
/** Prometheus aborts a scrape after 10 s by default. */
const CONNECTION_MS = 10_000;
/** Well above the number of scrapers. */
const CONNECTIONS_MAX = 32;
/** This machine, as an address or a Host. A page whose name resolves to it (DNS rebinding) sends that name. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])(?::\d*)?$/i;

/**
 * Listens on `host` and `port`.
 * @throws DatabaseError `unavailable` when the address cannot be bound.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const page = keptPage(options);
  const create: CreateServer = options.create ?? createServer;
  const isLocal = LOOPBACK.test(options.host);
  const server = create({}, (request, response) => {
    if (answerProbe(request, response, options.probes)) return;
    if (isLocal && !LOOPBACK.test(request.headers.host ?? 'localhost')) refuseHost(request, response);
    else void answer(request, response, page);
  });
  // Every response says `Connection: close`, so pipelined requests must not cause renderings.
  server.maxRequestsPerSocket = 1;
  // Answers clients that half-close the connection after their request. Node.js does not document this property; a test
  // covers it.
  Object.assign(server, { httpAllowHalfOpen: true });
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    endAfter(socket, options.connectionMs ?? CONNECTION_MS);
    makeRoom(open, options.connectionsMax ?? CONNECTIONS_MAX);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const { host, port, logger } = options;
  return {
    port: await listen(server, { host, port }, { what: 'metrics', setting: '--metrics-port' }, logger),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refuseHost({ headers: { host } }: IncomingMessage, response: ServerResponse): void {
  response
    .writeHead(403, { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' })
    .end(`Invalid Host ${quote(host ?? '')}: use localhost.\n`);
}

/** Closes the oldest connection at the limit: clients that hold connections must not make the probes fail. */
function makeRoom(open: Set<Socket>, max: number): void {
  const [oldest] = open;
  if (oldest === undefined || open.size < max) return;
  open.delete(oldest);
  oldest.destroy();
}

/** One timeout covers a request that never arrives and a response that is never read. */
function endAfter(socket: Socket, connectionMs: number): void {
  const timer = setTimeout(() => socket.destroy(), connectionMs);
  socket.once('close', () => clearTimeout(timer));
}

interface Reply {
  readonly status: number;
  readonly contentType: string;
  /** One buffer, shared by all connections. */
  readonly body: Uint8Array;
}

/** The content of `/metrics`, rendered once for all scrapes within `keptMs`. Never rejects. */
function keptPage({ metrics, logger, keptMs = KEPT_MS }: MetricsServerOptions): () => Promise<Reply> {
  let reply: Promise<Reply> | undefined;
  /** Infinite while a rendering is running. */
  let renderedMs = 0;
  return () => {
    if (reply === undefined || performance.now() - renderedMs >= keptMs) {
      renderedMs = Number.POSITIVE_INFINITY;
      reply = rendered(metrics, logger).finally(() => {
        renderedMs = performance.now();
      });
    }
    return reply;
  };
}

async function rendered(metrics: Metrics, logger: Logger): Promise<Reply> {
  try {
    const { contentType, body } = await metrics.render();
    return { status: 200, contentType, body: Buffer.from(body) };
  } catch (error) {
    logger.error('metrics-scrape-failed', { error });
    const body = Buffer.from('The metrics could not be collected; see the log.\n');
    return { status: 500, contentType: 'text/plain', body };
  }
}

/** Answers a request that is not for a probe. Never rejects. */
async function answer(request: IncomingMessage, response: ServerResponse, page: () => Promise<Reply>): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff');
  const path = (request.url ?? '/').split('?', 1)[0];
  if (!PATHS.some((each) => each === path)) {
    response
      .writeHead(404, { 'content-type': 'text/plain' })
      .end(`Nothing at ${path}; there are ${PATHS.join(', ')}.\n`);
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain' }).end('Only GET and HEAD.\n');
    return;
  }
  const { status, contentType, body } = await page();
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': contentType, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}
