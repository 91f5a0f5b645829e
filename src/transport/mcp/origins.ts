/**
 * Which pages in browsers may use the endpoint (MCP: "servers MUST validate the Origin header"), and the headers by
 * which a browser lets a page of another origin do so (CORS).
 *
 * A page may when it is of this host, of loopback, or of an origin that the settings name. `*` names none: it opens the
 * reads of HTTP, and an agent writes. A node that listens on loopback also checks the Host header, so that a page whose
 * name resolves to this machine (DNS rebinding) is refused.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { quote } from '#base';
import type { AllowedOrigins } from '../allowed-origins.ts';

const LOOPBACK: ReadonlySet<string | undefined> = new Set(['127.0.0.1', '[::1]', 'localhost']);

const REQUEST_HEADERS =
  'Content-Type, Accept, Authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id, traceparent, tracestate';
const EXPOSED_HEADERS =
  'mcp-session-id, WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

type Asking = Pick<IncomingHttpHeaders, 'host' | 'origin'>;

export interface OriginsOptions {
  /** Address that the node listens on. */
  readonly host: string;
  readonly allowed: AllowedOrigins;
}

export class Origins {
  readonly #isLocal: boolean;
  readonly #allowed: readonly string[];

  constructor({ host, allowed }: OriginsOptions) {
    this.#isLocal = LOOPBACK.has(host === '::1' ? '[::1]' : host);
    this.#allowed = allowed === '*' ? [] : allowed;
  }

  /** Why a request is refused; undefined: it is not. */
  faultIn({ host, origin }: Asking): string | undefined {
    const asked = hostnameIn(`http://${host}`);
    if (this.#isLocal && !LOOPBACK.has(asked))
      return `Invalid Host ${quote(host ?? '')}: this node is asked as localhost`;
    if (origin === undefined || this.#allowed.includes(origin)) return undefined;
    const from = hostnameIn(origin);
    if (LOOPBACK.has(from) || (from !== undefined && from === asked)) return undefined;
    return `Invalid Origin ${quote(origin)}: name it in cors-origins`;
  }

  /** Headers of every response to a request without a fault. */
  headersFor({ origin }: Asking): Readonly<Record<string, string>> {
    if (origin === undefined) return { vary: 'Origin' };
    return {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-expose-headers': EXPOSED_HEADERS,
    };
  }
}

function hostnameIn(url: string): string | undefined {
  return URL.parse(url)?.hostname;
}
