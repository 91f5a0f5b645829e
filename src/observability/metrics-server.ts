/**
 * The scrape endpoint: `GET /metrics` on a port of its own, so that a busy or shut client port never hides a node
 * from its operators. The probes of a kubelet are answered there, too: the port is open before recovery.
 *
 * The port is on the thread that serves clients, so a flood of scrapes must not keep that from them: there is one
 * rendering at a time, for all who ask, and it is kept for a second; a connection has one request, and 10 s in all.
 */
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { cannotListen } from '#base';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { answerProbe, PROBE_PATHS, type Probes } from './probes.ts';

// An import of it would also load what it offers lazily: a client for the web.
const { createServer } = process.getBuiltinModule('node:http');

export interface MetricsServer {
  readonly address: AddressInfo;
  close(): Promise<void>;
}

export interface MetricsServerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly probes: Probes;
  readonly logger: Logger;
  /** For how long a rendering answers those who ask next; 1,000 unless given. */
  readonly keptMs?: number;
  /** After which a connection is closed, whatever it waits for; 10,000 unless given. */
  readonly connectionMs?: number;
  /** Connections at a time, 32 unless given; one more closes the oldest. */
  readonly connectionsMax?: number | undefined;
  /** In place of that of node:http, for one that speaks TLS. */
  readonly create?: CreateServer | undefined;
}

type CreateServer = (options: ServerOptions, listener: RequestListener) => Server;

const PATHS = ['/metrics', ...PROBE_PATHS];
/** Scrape intervals are seconds. */
const KEPT_MS = 1000;
/** Prometheus gives up a scrape after 10 s unless told otherwise. */
const CONNECTION_MS = 10_000;
/** Far more than there are scrapers. */
const CONNECTIONS_MAX = 32;

/**
 * Listens on `host` and `port`.
 * @throws DatabaseError `unavailable` when the address cannot be had.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const page = new Page(options);
  const create: CreateServer = options.create ?? createServer;
  const server = create({}, (request, response) => {
    if (!answerProbe(request, response, options.probes)) void answer(request, response, page);
  });
  // The answer says `Connection: close`, and nothing is rendered for what was pipelined behind its request.
  server.maxRequestsPerSocket = 1;
  // Who ends its side behind the request wants the answer all the same. No document of Node's has it; a test does.
  Object.assign(server, { httpAllowHalfOpen: true });
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    endAfter(socket, options.connectionMs ?? CONNECTION_MS);
    makeRoom(open, options.connectionsMax ?? CONNECTIONS_MAX);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen('metrics', '--metrics-port', options, cause)));
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

/** Closes the oldest connection when there are `max`: clients that hold connections must not fail the probes. */
function makeRoom(open: Set<Socket>, max: number): void {
  const [oldest] = open;
  if (oldest === undefined || open.size < max) return;
  open.delete(oldest);
  oldest.destroy();
}

/** Bounds all at once: a request that never comes, and an answer that is never read. */
function endAfter(socket: Socket, connectionMs: number): void {
  const timer = setTimeout(() => socket.destroy(), connectionMs);
  socket.once('close', () => clearTimeout(timer));
}

interface Reply {
  readonly status: number;
  readonly contentType: string;
  /** One for all connections that it is sent on. */
  readonly body: Uint8Array;
}

/** What `/metrics` answers now. */
class Page {
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #keptMs: number;
  #reply: Promise<Reply> | undefined;
  /** Infinite while it is being rendered. */
  #renderedMs = 0;

  constructor({ metrics, logger, keptMs = KEPT_MS }: MetricsServerOptions) {
    this.#metrics = metrics;
    this.#logger = logger;
    this.#keptMs = keptMs;
  }

  /** Never rejects. */
  reply(): Promise<Reply> {
    if (this.#reply === undefined || performance.now() - this.#renderedMs >= this.#keptMs) {
      this.#renderedMs = Number.POSITIVE_INFINITY;
      this.#reply = this.#render().finally(() => {
        this.#renderedMs = performance.now();
      });
    }
    return this.#reply;
  }

  async #render(): Promise<Reply> {
    try {
      const { contentType, body } = await this.#metrics.render();
      return { status: 200, contentType, body: Buffer.from(body) };
    } catch (error) {
      this.#logger.error('metrics-scrape-failed', { error });
      const body = Buffer.from('The metrics could not be collected; see the log.\n');
      return { status: 500, contentType: 'text/plain', body };
    }
  }
}

/** Of a request that is for no probe. Never rejects. */
async function answer(request: IncomingMessage, response: ServerResponse, page: Page): Promise<void> {
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
  const { status, contentType, body } = await page.reply();
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': contentType, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}
