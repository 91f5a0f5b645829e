/** The server of the MCP endpoint: one path, bodies within limits, and an end that lets running requests finish. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { DatabaseError, formatAddress } from '#base';
import type { Logger, Metrics } from '#observability';
import type { ByteBudgets } from '../byte-budgets.ts';
import { Api } from './api.ts';
import { receive } from './bodies.ts';
import { CONNECTIONS_MAX, HEADER_BYTES_MAX, HEADERS_MS, REQUEST_MS } from './limits.ts';
import type { Protocol } from './protocol.ts';
import { refuse } from './refusals.ts';

// Not imported: an import would load all that it has, the client of the web among it.
const { createServer } = process.getBuiltinModule('node:http');

export interface McpServerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Where the HTTP API of this node is: `http://host:port`. */
  readonly api: string;
  /** Of the product. */
  readonly version: string;
  /** The directory of the documentation. */
  readonly docs: string;
  readonly budgets: ByteBudgets;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Names of sessions that nobody guesses. */
  readonly mintId: () => string;
  readonly connectionsMax?: number | undefined;
}

export interface McpServer {
  /** `http://host:port` as bound. */
  readonly address: string;
  /** Stops listening, ends all sessions, and cuts off what is left at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

const SWEEP_MS = 60_000;
const METHODS = 'GET, POST, DELETE';
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Listens when the promise resolves.
 * @throws DatabaseError when the address cannot be had.
 */
export async function startMcpServer(options: McpServerOptions): Promise<McpServer> {
  const front = new McpFront(options);
  const address = await front.listen();
  return { address, close: (deadlineMs) => front.close(deadlineMs) };
}

class McpFront {
  readonly #options: McpServerOptions;
  readonly #server: Server;
  #protocol: Promise<Protocol> | undefined;
  readonly #sweeping: NodeJS.Timeout;

  constructor(options: McpServerOptions) {
    this.#options = options;
    const limits = { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS };
    this.#server = createServer(limits, (request, response) => void this.#answer(request, response));
    this.#server.maxConnections = options.connectionsMax ?? CONNECTIONS_MAX;
    this.#sweeping = setInterval(() => void this.#sweep(), SWEEP_MS);
    this.#sweeping.unref();
  }

  async listen(): Promise<string> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) => {
        reject(new DatabaseError('unavailable', `MCP cannot listen on ${host}:${port}: ${cause.message}`, { cause }));
      });
      this.#server.listen(port, host, resolve);
    });
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a TCP address');
    return `http://${formatAddress({ host, port: address.port })}`;
  }

  async close(deadlineMs: number): Promise<void> {
    clearInterval(this.#sweeping);
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    await (await this.#protocol)?.close();
    this.#server.closeIdleConnections();
    const deadline = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(deadline);
  }

  /** Never rejects. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (new URL(request.url ?? '/', 'http://a').pathname !== '/') return refuse(response, 404, 'MCP is at /');
      if (request.method === 'POST') return await this.#post(request, response);
      if (request.method === 'GET' || request.method === 'DELETE') {
        return await (await this.#loaded()).handle(request, response, undefined);
      }
      refuse(response, 405, `MCP has the methods ${METHODS}`, { allow: METHODS });
    } catch (error) {
      // The stack is exhausted by what is nested some ten thousand times, which no message is.
      if (error instanceof RangeError && !response.headersSent)
        return refuse(response, 400, 'The body is nested too deep');
      this.#options.logger.error('mcp-request-failed', { error });
      if (!response.headersSent) refuse(response, 500, 'The server has failed on this request; its log says why');
      else response.destroy();
    }
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receive(request, response, this.#options.budgets);
    if (received === undefined) return;
    try {
      await (await this.#loaded()).handle(request, response, received.json);
    } finally {
      received.release();
    }
  }

  #loaded(): Promise<Protocol> {
    this.#protocol ??= this.#load();
    return this.#protocol;
  }

  async #load(): Promise<Protocol> {
    const { api, version, docs, host, mintId, logger } = this.#options;
    const protocol = await import('./protocol.ts');
    return new protocol.Protocol({
      api: new Api(api),
      version,
      docs,
      mintId,
      isLocal: LOOPBACK.has(host),
      monotonicMs: () => performance.now(),
      onFault: (error) => logger.warn('mcp-fault', { error }),
    });
  }

  async #sweep(): Promise<void> {
    try {
      await (await this.#protocol)?.sweep();
    } catch (error) {
      this.#options.logger.error('mcp-sweep-failed', { error });
    }
  }
}
