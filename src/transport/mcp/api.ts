/** Client of this node's HTTP API on loopback (ADR 0121). */
import type { Agent, IncomingMessage } from 'node:http';
import { quote } from '#base';
import { COUNTED } from '../rate-limits.ts';
import { type Dial, secureAgent } from '../secure.ts';
import { ANSWER_BYTES_MAX, ANSWER_HEADER_BYTES_MAX, API_TIMEOUT_MS } from './limits.ts';

/** A request whose path is one of the API (paths.ts). */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly accept: string;
  readonly authorization: string | undefined;
  readonly body?: { readonly contentType: string; readonly bytes: Uint8Array };
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** Target of a redirect, or address of a created resource. */
  readonly location: string | undefined;
}

/** The API cannot be reached, or its reply is too large for a tool. The message is for the caller of the tool. */
export class ApiFailure extends Error {}

// An import would also load modules that it offers lazily: a client for the web.
const http = process.getBuiltinModule('node:http');

const REDIRECTS_MAX = 3;
const KEPT = { keepAlive: true, maxFreeSockets: 32 };

export class Api {
  /** Base URL: `http://host:port`, or `https:`. */
  readonly #origin: string;
  readonly #agent: Agent;
  readonly #proof: string | undefined;

  /** `dial`: connects with TLS. `proof`: shows that requests were already counted for the caller of a tool (TM7). */
  constructor(origin: string, dial: Dial, proof?: string) {
    this.#origin = origin;
    this.#proof = proof;
    this.#agent = origin.startsWith('https:') ? secureAgent(dial, KEPT) : new http.Agent(KEPT);
  }

  /** Follows redirects within the API, such as that of `latest`. @throws ApiFailure */
  async ask(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
    let answer = await this.#send(request, signal);
    for (let n = 0; n < REDIRECTS_MAX && isRedirect(answer); n++) {
      answer = await this.#send({ ...request, path: this.#pathOf(answer.location) }, signal);
    }
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
    const timeout = AbortSignal.timeout(API_TIMEOUT_MS);
    try {
      const response = await this.#begin(request, AbortSignal.any([signal, timeout]));
      const text = await textOf(response, request.path);
      return { status: response.statusCode ?? 0, text, location: response.headers.location };
    } catch (cause) {
      if (cause instanceof ApiFailure || signal.aborted) throw cause;
      const why = timeout.aborted ? `has not answered in ${API_TIMEOUT_MS} ms` : 'cannot be reached';
      throw new ApiFailure(`The HTTP API ${why}; try again`, { cause });
    }
  }

  #begin(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, accept, authorization, body, headers } = request;
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.#origin);
      const outgoing = http.request({
        agent: this.#agent,
        host: hostname.replaceAll(/[[\]]/g, ''),
        port,
        method,
        path,
        signal,
        maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
        headers: {
          ...headers,
          accept,
          // On loopback bytes are cheaper than compression.
          'accept-encoding': 'identity',
          ...(this.#proof !== undefined && { [COUNTED]: this.#proof }),
          ...(authorization !== undefined && { authorization }),
          ...(body !== undefined && { 'content-type': body.contentType, 'content-length': body.bytes.length }),
        },
      });
      const failed = (cause: NodeJS.ErrnoException): void => {
        // A server may close a kept connection while the next request is in flight (RFC 9110, 9.2.2).
        const isStale = outgoing.reusedSocket && cause.code === 'ECONNRESET';
        if (isStale && method === 'GET') resolve(this.#begin(request, signal));
        else reject(cause);
      };
      outgoing.once('response', resolve).once('error', failed).end(body?.bytes);
    });
  }

  /** Path of a location that the API itself has returned. */
  #pathOf(location = ''): string {
    const url = new URL(location, this.#origin);
    if (url.origin !== new URL(this.#origin).origin) throw new ApiFailure(`The API leads away, to ${quote(location)}`);
    return `${url.pathname}${url.search}`;
  }
}

function isRedirect({ status, location }: ApiAnswer): boolean {
  return (status === 307 || status === 302 || status === 308) && location !== undefined;
}

async function textOf(answer: IncomingMessage, path: string): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    if (!Buffer.isBuffer(piece)) continue;
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) {
      const rule = `answers more than ${ANSWER_BYTES_MAX} bytes; ask for less, such as by limit`;
      throw new ApiFailure(`The path ${quote(path)} ${rule}`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
