/**
 * Metrics of requests: durations by method, route and status, and requests in progress.
 *
 * Label values are bounded: the route is its template, and a method that no route has is `other`.
 */
import { type Level, type Metrics, type Observe, PROBE_PATHS } from '#observability';
import type { RedirectReason } from './reply.ts';
import type { HttpMethod, Route } from './route.ts';

/** Route label of a request without a route. */
export const UNMATCHED_ROUTE = 'unmatched';

/** Probes are not requests of clients: their 503 only says that the node wants none. */
const PROBES: ReadonlySet<string> = new Set(PROBE_PATHS);

/** Status label when the client disconnected before the reply was sent, as in nginx. */
const CLIENT_GONE = 499;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];

/** Status of success by method, unless the route has another. */
const SUCCESS: Readonly<Record<HttpMethod, number>> = { GET: 200, POST: 200, DELETE: 204 };
/** Statuses that are failures of the node. */
const FAILURES = [500, 503];

const MS_PER_SECOND = 1000;

export interface AnsweredRequest {
  readonly method: string;
  readonly route: string;
  /** Undefined when the client disconnected before the reply was sent. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #inFlight: Level;
  readonly #durations = new Map<string, Observe>();
  readonly #templates: ReadonlySet<string>;
  /** Requested methods and routes. */
  readonly #used = new Set<string>();

  /** Without authentication, routes that need it show no series until one is requested. */
  constructor(metrics: Metrics, routes: readonly Route[], isAuthenticated: boolean) {
    this.#metrics = metrics;
    this.#inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'http' });
    this.#templates = new Set(routes.map(({ path }) => path));
    for (const { method, path, status = SUCCESS[method], needsAuthentication = false } of routes) {
      if (!PROBES.has(path) && (isAuthenticated || !needsAuthentication)) this.#duration(method, path, status);
    }
  }

  redirected(reason: RedirectReason): void {
    this.#metrics.counter('cairn_redirects_total', { reason }).add();
  }

  begin(): void {
    this.#inFlight.move(1);
  }

  end({ method, route, status = CLIENT_GONE, durationMs }: AnsweredRequest): void {
    this.#inFlight.move(-1);
    if (PROBES.has(route)) return;
    const known = METHODS.includes(method) ? method : 'other';
    this.#duration(known, route, status).observe(durationMs / MS_PER_SECOND);
    this.#beginFailures(known, route);
  }

  /** A requested route has series of failures from 0 on, before there are any. */
  #beginFailures(method: string, route: string): void {
    const key = `${method} ${route}`;
    if (this.#used.has(key) || !this.#templates.has(route)) return;
    this.#used.add(key);
    for (const status of FAILURES) this.#duration(method, route, status);
  }

  #duration(method: string, route: string, status: number): Observe {
    const key = `${method} ${route} ${status}`;
    const known = this.#durations.get(key);
    if (known !== undefined) return known;
    const code = String(status);
    const created = this.#metrics.histogram('http_server_request_duration_seconds', { method, route, code });
    this.#durations.set(key, created);
    return created;
  }
}
