/**
 * The transport of requests as a port, and its implementation by HTTPS. Tests implement it in memory.
 *
 * @kubernetes/client-node provides the address, certificates and credentials. Nothing else of it is used (DESIGN.md).
 */
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { asError } from './api-error.ts';

export interface TransportRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborts the request, and the body of its response. */
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** The header, in seconds. */
  readonly retryAfter?: string | undefined;
  /** Rejects when the connection is lost. A reader that stops early closes the connection. */
  readonly body: AsyncIterable<string>;
}

export interface Transport {
  /** Rejects without a response. */
  send(request: TransportRequest): Promise<TransportResponse>;
}

/** The server may be about to close a connection that is idle for longer. */
const IDLE_MS = 30_000;

export class HttpsTransport implements Transport {
  readonly #config: KubeConfig;
  readonly #server: string;
  #agent: Agent | undefined;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error('the configuration of Kubernetes names no current cluster');
    this.#config = config;
    // The address of a proxy may have a path.
    this.#server = cluster.server.replace(/\/$/, '');
  }

  /** Reads a kubeconfig file; without `path`: KUBECONFIG, ~/.kube/config or the service account of the pod. */
  static fromFile(path?: string): HttpsTransport {
    const config = new KubeConfig();
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
    return new HttpsTransport(config);
  }

  async send({ method, path, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const options: RequestOptions = {};
    // Reads the file of a token again when it has expired.
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, rejectUnauthorized, servername, headers: credentials } = options;
    const tls = { ca, cert, key, rejectUnauthorized, ...(servername !== undefined && { servername }) };
    this.#agent ??= new Agent({ keepAlive: true, timeout: IDLE_MS, ...tls });
    // Node sends the body of a DELETE without a length. The server would read it as the next request.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = { method, agent: this.#agent, signal, headers: Object.assign({}, credentials, headers, length) };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(`${this.#server}${path}`, sent, resolve)
      .on('error', (error) => reject(explained(error, signal)))
      .end(body);
    const response = await promise;
    const { statusCode: status = 0, headers: answered } = response;
    return { status, retryAfter: answered['retry-after'], body: bodyOf(response, signal) };
  }
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const chunk of response.setEncoding('utf8')) yield String(chunk);
  } catch (error) {
    throw explained(error, signal);
  }
}

/** Prefers the reason of the signal to Node's message, which says only that the operation was aborted. */
function explained(error: unknown, { reason }: AbortSignal): Error {
  return asError(reason ?? error);
}
