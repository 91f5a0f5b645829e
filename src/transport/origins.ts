/**
 * Decides which web pages may use a node: for MCP always ("servers MUST validate the Origin header"), for HTTP where
 * requests are not authenticated. Also returns the headers by which a browser lets a page of another origin use MCP
 * (CORS).
 *
 * A page may when its origin is this host, loopback, or one in the settings. `*` names none: it allows reads over HTTP,
 * but an agent writes. A node that listens on loopback also checks the Host header, so that a page whose name resolves
 * to this machine (DNS rebinding) is refused; it accepts the hosts of named origins.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';
import { quote } from '#base';

/** `*`, or the origins whose pages may read replies, such as `https://shop.example` (`--cors-origins`). */
export type AllowedOrigins = '*' | readonly string[];

const REQUEST_HEADERS =
  'Content-Type, Accept, Authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id, traceparent, tracestate';
const EXPOSED_HEADERS =
  'mcp-session-id, WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

type Asking = Pick<IncomingHttpHeaders, 'host' | 'origin' | 'sec-fetch-site'>;

export class Origins {
  readonly #isLocal: boolean;
  readonly #allowed: readonly string[];
  readonly #names: ReadonlySet<string | undefined>;

  /** `host`: address that the node listens on. */
  constructor({ host, allowed }: { readonly host: string; readonly allowed: AllowedOrigins }) {
    this.#isLocal = isLoopback(host === '::1' ? '[::1]' : host);
    this.#allowed = allowed === '*' ? [] : allowed;
    this.#names = new Set(this.#allowed.map(hostnameIn));
  }

  /** Why a request is refused; undefined: it is not. */
  faultIn(asking: Asking): string | undefined {
    return this.hostFaultIn(asking) ?? this.#originFaultIn(asking);
  }

  /** Every browser sends a Host; a client of HTTP/1.0 may omit it. */
  hostFaultIn({ host }: Pick<Asking, 'host'>): string | undefined {
    if (!this.#isLocal || host === undefined) return undefined;
    const asked = hostnameIn(`http://${host}`);
    if (asked !== undefined && (isLoopback(asked) || this.#names.has(asked))) return undefined;
    return `Invalid Host ${quote(host)}: use localhost, or name its origin in cors-origins`;
  }

  /** A proxy may change Host, but no page can set `Sec-Fetch-Site`, which the browser sends. */
  #originFaultIn({ host, origin, 'sec-fetch-site': site }: Asking): string | undefined {
    if (origin === undefined || site === 'same-origin' || this.#allowed.includes(origin)) return undefined;
    const from = hostnameIn(origin);
    if (from !== undefined && (isLoopback(from) || from === hostnameIn(`http://${host}`))) return undefined;
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

/** URLs already normalize `127.1` to 127.0.0.1. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
