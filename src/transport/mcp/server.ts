/** The server of the MCP endpoint: one path, bodies within limits, and a graceful end. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Credentials, challenge, type Principal } from '#auth';
import { DatabaseError } from '#base';
import { type Access, headerLines } from '../access.ts';
import { createHttpServer, type Exchange, HttpConnections } from '../http-connections.ts';
import { type AllowedOrigins, Origins } from '../origins.ts';
import { COUNTED } from '../rate-limits.ts';
import type { Relay } from '../relay.ts';
import type { Dial } from '../secure.ts';
import type { ServerOptions, WebServer } from '../server-options.ts';
import { Api } from './api.ts';
import { receive } from './bodies.ts';
import { CONNECTIONS_MAX, HEADER_BYTES_MAX, HEADERS_MS, REQUEST_MS } from './limits.ts';
import { messageCount, methodsOf } from './messages.ts';
import { McpMeters } from './meters.ts';
import type { Protocol } from './protocol.ts';
import { refuse } from './refusals.ts';
import { type McpNodes, McpRelaying } from './relaying.ts';
import { type ProtectedResource, ResourceMetadata } from './resource-metadata.ts';
import { sessionIdAt } from './session-ids.ts';
import type { Asker } from './sessions.ts';

export interface McpServerOptions extends ServerOptions {
  /** URL of this node's HTTP API: `http://host:port`, or `https:`. */
  readonly api: string;
  /** Connects to the API where it uses TLS. */
  readonly dialApi: Dial;
  readonly nodes: McpNodes;
  readonly relay: Relay;
  readonly version: string;
  /** The directory of the documentation. */
  readonly docs: string;
  /** Origins whose pages may use the endpoint, in addition to those of this host. */
  readonly allowedOrigins: AllowedOrigins;
  /** Mints unpredictable UUIDs. */
  readonly mintId: () => string;
  readonly connectionsMax?: number | undefined;
  /** Metadata for clients that look for the token issuer, by the bound address; absent: no tokens are accepted. */
  readonly resourceAt?: ((address: string) => ProtectedResource) | undefined;
}

/** Prefix of the library's message about a refused request. */
const REJECTED = 'Rejected inbound request';
const SWEEP_MS = 60_000;
const MS_PER_SECOND = 1_000;
const METHODS = 'GET, POST, DELETE, OPTIONS';
const METADATA_METHODS = 'GET, HEAD, OPTIONS';

interface Caller {
  readonly principal?: Principal;
  /** The refusal of its credential. */
  readonly stranger?: DatabaseError;
}

interface Asking extends Exchange {
  readonly caller: Caller;
}

const ANYBODY: Caller = {};

/**
 * Listens when the promise resolves.
 * @throws DatabaseError when the address cannot be had.
 */
export async function startMcpServer(options: McpServerOptions): Promise<WebServer> {
  const front = new McpFront(options);
  await front.listen();
  return front;
}

class McpFront implements WebServer {
  address = '';
  readonly #options: McpServerOptions;
  readonly #connections: HttpConnections;
  readonly #meters: McpMeters;
  readonly #relaying: McpRelaying;
  readonly #origins: Origins;
  #protocol: Promise<Protocol> | undefined;
  #metadata: ResourceMetadata | undefined;
  readonly #sweeping: NodeJS.Timeout;

  constructor(options: McpServerOptions) {
    this.#options = options;
    const { host, allowedOrigins: allowed, nodes, relay, metrics, tracer } = options;
    this.#origins = new Origins({ host, allowed });
    this.#meters = new McpMeters(metrics);
    this.#relaying = new McpRelaying(relay, nodes, tracer);
    const bounds = { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS };
    const server = createHttpServer(
      options.secure,
      bounds,
      (request, response) => void this.#answer(request, response),
    );
    // Connections also listen for these events, so that Node does not answer them by itself.
    server.on('checkContinue', (request, response) => {
      response.writeContinue();
      void this.#answer(request, response);
    });
    this.#connections = new HttpConnections(server, {
      max: options.connectionsMax ?? CONNECTIONS_MAX,
      isSecure: options.secure !== undefined,
      onDisplaced: (waiting) =>
        metrics.counter('cairn_connections_displaced_total', { protocol: 'mcp', waiting }).add(),
    });
    this.#sweeping = setInterval(() => void this.#sweep(), SWEEP_MS);
    this.#sweeping.unref();
  }

  async listen(): Promise<void> {
    const { resourceAt, logger } = this.#options;
    this.address = await this.#connections.listen(this.#options, { what: 'MCP', setting: '--mcp-port' }, logger);
    this.#metadata = resourceAt && new ResourceMetadata(resourceAt(this.address));
  }

  makeRoom(): boolean {
    return this.#connections.makeRoom();
  }

  async close(deadlineMs: number): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#connections.close(deadlineMs, async () => {
      this.#relaying.endStreams();
      await (await this.#protocol)?.close();
    });
    this.#relaying.close();
  }

  /** Never rejects. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      response.setHeader('x-content-type-options', 'nosniff');
      const pathname = URL.parse(request.url ?? '/', 'http://a')?.pathname;
      const metadata = pathname === undefined ? undefined : this.#metadata?.at(pathname);
      if (metadata !== undefined) return this.#describe(metadata, { request, response });
      if (pathname !== '/') return refuse(response, 404, 'MCP is at /');
      const fault = this.#origins.faultIn(request.headers);
      if (fault === undefined) this.#shareWith(request, response);
      // Browsers send it without a credential.
      if (request.method === 'OPTIONS') return allow(response, METHODS);
      const caller = await this.#callerOf(request);
      const isCounted = this.#options.rateLimits?.isCounted(request.headers[COUNTED]?.toString()) === true;
      const refusal = (isCounted ? undefined : this.#counted({ request, response, caller })) ?? caller.stranger;
      if (refusal !== undefined) return this.#refuse(response, refusal);
      if (fault !== undefined) return refuse(response, 403, fault, { connection: 'close' });
      if (!METHODS.split(', ').includes(request.method ?? '')) {
        return refuse(response, 405, `MCP has the methods ${METHODS}`, { allow: METHODS });
      }
      if (await this.#relaying.relayIfElsewhere({ request, response })) return;
      if (request.method === 'POST') return await this.#post({ request, response, caller });
      await (await this.#loaded()).handle({ request, response, body: undefined, asker: askerOf(request, caller) });
    } catch (error) {
      this.#options.logger.error('mcp-request-failed', { error });
      if (!response.headersSent) refuse(response, 500, 'The server failed to handle this request; see its log');
      else response.destroy();
    }
  }

  /** Authenticates the client. A session is not a credential, so each of its requests has one (TC2). */
  async #callerOf({ rawHeaders }: IncomingMessage): Promise<Caller> {
    const { access } = this.#options;
    if (access === undefined) return ANYBODY;
    const lines = headerLines(rawHeaders, { mayBeBrowser: false });
    // The only header that tools relay.
    return identified(access, (name) => (name === 'authorization' ? lines.values(name) : []));
  }

  #shareWith({ headers }: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(this.#origins.headersFor(headers))) response.setHeader(name, value);
  }

  /** Answers a client that has no token yet. It counts as any other request. */
  #describe(metadata: string, { request, response }: Exchange): void {
    if (this.#origins.faultIn(request.headers) === undefined) this.#shareWith(request, response);
    if (request.method === 'OPTIONS') return allow(response, METADATA_METHODS);
    const refusal = this.#counted({ request, response, caller: ANYBODY });
    if (refusal !== undefined) return this.#refuse(response, refusal);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return refuse(response, 405, `This has the methods ${METADATA_METHODS}`, { allow: METADATA_METHODS });
    }
    const length = Buffer.byteLength(metadata);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    response.end(request.method === 'HEAD' ? undefined : metadata);
  }

  /** Refuses a request without reading its body. The challenge names the issuer of tokens, if there is one. */
  #refuse(response: ServerResponse, { code, message, details }: DatabaseError): void {
    const { retryAfterMs } = details;
    const wait = retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / MS_PER_SECOND)) };
    const shared = { connection: 'close', ...wait };
    if (code !== 'unauthenticated') return refuse(response, code === 'rate_limited' ? 429 : 503, message, shared);
    const named = [challenge(details.reason), this.#metadata?.challenge].filter((each) => each !== undefined);
    refuse(response, 401, message, { ...shared, 'www-authenticate': named.join(', ') });
  }

  /** Counts a request, or its messages beyond the first; undefined: it is allowed. */
  #counted({ request, response, caller }: Asking, requests?: number): DatabaseError | undefined {
    const address = request.socket.remoteAddress;
    const counted = this.#options.rateLimits?.count({ principal: caller.principal, address }, 'mcp', requests);
    for (const [name, value] of Object.entries(counted?.headers ?? {})) response.setHeader(name, value);
    return counted?.refusal;
  }

  async #post(exchange: Asking): Promise<void> {
    const { request, response, caller } = exchange;
    if (!(await this.#loaded()).hasSession(request, response)) return;
    const received = await receive(request, response, this.#options.budgets);
    if (received === undefined) return;
    try {
      const more = messageCount(received.json) - 1;
      const refusal = more > 0 ? this.#counted(exchange, more) : undefined;
      this.#meters.asked(methodsOf(received.json));
      const asked = { request, response, body: received.json, asker: askerOf(request, caller) };
      if (refusal === undefined) await (await this.#loaded()).handle(asked);
      else this.#refuse(response, refusal);
    } finally {
      received.release();
    }
  }

  #loaded(): Promise<Protocol> {
    this.#protocol ??= this.#load();
    return this.#protocol;
  }

  async #load(): Promise<Protocol> {
    const { api, dialApi, version, docs, nodes, mintId, logger, rateLimits, tracer } = this.#options;
    const protocol = await import('./protocol.ts');
    return new protocol.Protocol({
      api: new Api(api, dialApi, rateLimits?.ownProof),
      version,
      docs,
      tracer,
      mintId: () => sessionIdAt(nodes.own, mintId()),
      meters: this.#meters,
      monotonicMs: () => performance.now(),
      // The client has received the error for an invalid message, which is its own fault.
      onFault: (error) => logger[error.message.startsWith(REJECTED) ? 'debug' : 'warn']('mcp-fault', { error }),
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

function askerOf({ headers }: IncomingMessage, { principal }: Caller): Asker {
  return { authorization: headers.authorization, principal: principal?.id };
}

/** @throws other failures than refusals */
async function identified(access: Access, values: Credentials['values']): Promise<Caller> {
  try {
    return { principal: await access.authenticator.identify({ values }) };
  } catch (failure) {
    // This node may be unable to verify a key at the moment.
    if (!(failure instanceof DatabaseError)) throw failure;
    return { stranger: failure.code === 'unauthenticated' ? unauthenticated(failure) : failure };
  }
}

const MISSING = 'This endpoint requires a credential: send an API key or a token as Authorization: Bearer';

/** Other credential headers, such as X-API-Key, are accepted over HTTP only. */
function unauthenticated({ message, details }: DatabaseError): DatabaseError {
  const said =
    details.reason === 'CredentialMissing'
      ? MISSING
      : `${message}; send an API key or a token as Authorization: Bearer`;
  return new DatabaseError('unauthenticated', said, { details });
}

/** Answers OPTIONS. */
function allow(response: ServerResponse, methods: string): void {
  response.writeHead(204, { allow: methods, 'access-control-allow-methods': methods }).end();
}
