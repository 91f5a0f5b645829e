/**
 * Metrics and server spans of requests: durations by method, route and status, and requests in progress. Spans have the
 * attribute names of OpenTelemetry.
 *
 * Values are bounded: the route is its template, and in metrics a method that no route has is `other`. Spans have no
 * path and query, which contain data such as subjects.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Level, type Metrics, type Observe, PROBE_PATHS, type Span, type Tracer } from '#observability';
import type { RedirectReason } from './reply.ts';
import type { HttpMethod, Route } from './route.ts';

const UNMATCHED_ROUTE = 'unmatched';

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

export interface RecordedBy {
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly routes: readonly Route[];
  /** False: routes that need authentication show no series until one is requested. */
  readonly isAuthenticated: boolean;
}

export class RequestRecords {
  readonly #metrics: Metrics;
  readonly #tracer: Tracer | undefined;
  readonly #inFlight: Level;
  readonly #durations = new Map<string, Observe>();
  readonly #templates: ReadonlySet<string>;
  /** Requested methods and routes. */
  readonly #used = new Set<string>();

  constructor({ metrics, tracer, routes, isAuthenticated }: RecordedBy) {
    this.#metrics = metrics;
    this.#tracer = tracer;
    this.#inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'http' });
    this.#templates = new Set(routes.map(({ path }) => path));
    for (const { method, path, status = SUCCESS[method], needsAuthentication = false } of routes) {
      if (!PROBES.has(path) && (isAuthenticated || !needsAuthentication)) this.#duration(method, path, status);
    }
  }

  redirected(reason: RedirectReason): void {
    this.#metrics.counter('cairn_redirects_total', { reason }).add();
  }

  /** Records a request until its reply is sent or its client disconnects. Returns its span. */
  begin(request: FastifyRequest, reply: FastifyReply): Span | undefined {
    const startedMs = performance.now();
    const response = reply.raw;
    this.#inFlight.move(1);
    const span = this.#tracer && beginSpan(this.#tracer, request);
    response.once('close', () => {
      const status = response.writableFinished ? response.statusCode : undefined;
      this.#inFlight.move(-1);
      this.#observe(request, status ?? CLIENT_GONE, performance.now() - startedMs);
      if (span !== undefined) endSpan(span, status, reply.getHeader('x-revision')?.toString());
    });
    return span;
  }

  #observe(request: FastifyRequest, status: number, durationMs: number): void {
    const route = routeOf(request);
    if (PROBES.has(route)) return;
    const method = METHODS.includes(request.method) ? request.method : 'other';
    this.#duration(method, route, status).observe(durationMs / MS_PER_SECOND);
    this.#beginFailures(method, route);
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

/** The template of the route. */
export function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.config.label ?? UNMATCHED_ROUTE;
}

/** Probes and files of pages are not traced: they are frequent and tell nothing. */
function beginSpan(tracer: Tracer, request: FastifyRequest): Span | undefined {
  if (request.routeOptions.config.route?.isForAnybody === true) return undefined;
  const { method, headers } = request;
  const route = routeOf(request);
  const attributes = { 'http.request.method': method, 'http.route': route };
  return tracer.begin(`${method} ${route}`, (name) => headers[name]?.toString(), attributes);
}

/** `status`: undefined when the client disconnected, which is not a failure of the node. */
function endSpan(span: Span, status: number | undefined, revision: string | undefined): void {
  const isFault = status !== undefined && status >= 500;
  span.set({
    'http.response.status_code': status,
    'error.type': status === undefined ? 'client_gone' : isFault ? String(status) : undefined,
    'cairn.revision': revision === undefined ? undefined : Number(revision),
  });
  if (isFault) span.fail();
  span.end();
}
