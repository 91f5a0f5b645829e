/** The transport of requests as a port, and its implementation by HTTPS. Tests implement it in memory. */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { type Access, accessOfFile } from './access.ts';
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
  readonly #access: Access;
  readonly #server: string;
  readonly #agent: Agent;

  constructor(access: Access) {
    this.#access = access;
    // The address of a proxy may have a path.
    this.#server = access.server.replace(/\/$/, '');
    this.#agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ...access.tls });
  }

  static fromFile(path: string): HttpsTransport {
    return new HttpsTransport(accessOfFile(path));
  }

  async send({ method, path, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const token = this.#access.token();
    const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` };
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
