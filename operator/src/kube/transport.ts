/**
 * How a request reaches the API server: a port, and its implementation by HTTPS. Tests implement it in memory.
 *
 * @kubernetes/client-node finds the server, its certificates and the credentials; nothing else of it is used (DESIGN.md
 * says why).
 */
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { asError } from './api-error.ts';

export interface TransportRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Ends the request, and the body of its response, with an error. */
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Seconds, when the server says after which time it may be asked again. */
  readonly retryAfter?: string | undefined;
  /** Rejects when the connection is lost. Whoever stops to read closes the connection. */
  readonly body: AsyncIterable<string>;
}

export interface Transport {
  /** Rejects when there is no response. */
  send(request: TransportRequest): Promise<TransportResponse>;
}

/** A connection that is idle for longer may be one that the server is about to close. */
const IDLE_MS = 30_000;

export class HttpsTransport implements Transport {
  readonly #config: KubeConfig;
  readonly #server: string;
  #agent: Agent | undefined;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error('the configuration of Kubernetes names no current cluster');
    this.#config = config;
    this.#server = cluster.server;
  }

  /** From a file as kubectl reads it; without one from KUBECONFIG, ~/.kube/config or the service account of the pod. */
  static fromFile(path?: string): HttpsTransport {
    const config = new KubeConfig();
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
    return new HttpsTransport(config);
  }

  async send({ method, path, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const options: RequestOptions = {};
    // Tokens of files are read again when they are old.
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, rejectUnauthorized, headers: credentials } = options;
    this.#agent ??= new Agent({ keepAlive: true, timeout: IDLE_MS, ca, cert, key, rejectUnauthorized });
    // Node sends the body of a DELETE without its length, and the server would take it for the next request.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = { method, agent: this.#agent, signal, headers: Object.assign({}, credentials, headers, length) };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(new URL(path, this.#server), sent, resolve)
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

/** Node says only that the operation was aborted. */
function explained(error: unknown, { reason }: AbortSignal): Error {
  return asError(reason ?? error);
}
