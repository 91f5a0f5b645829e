/**
 * What a trace shows of a request of HTTP: its server span, by the names that OpenTelemetry has for them.
 *
 * The route is its template. Path and query are not told: they have what was asked about, such as subjects.
 */
import type { FastifyRequest } from 'fastify';
import type { Span, Tracer } from '#observability';
import { UNMATCHED_ROUTE } from './request-metrics.ts';

/** What came of a request. */
export interface TracedAnswer {
  /** Undefined: its client has left before it was sent. */
  readonly status: number | undefined;
  /** That the answer was read at. */
  readonly revision: string | undefined;
}

/** Of a request that nobody waits for any more, which is no failure of ours. */
const CLIENT_GONE = 'client_gone';

export class RequestTraces {
  readonly #tracer: Tracer;
  readonly #spans = new WeakMap<FastifyRequest, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Probes and what pages load are not traced: they say nothing, and there are many. */
  begin(request: FastifyRequest): void {
    const { label: route = UNMATCHED_ROUTE, isForAnybody = false } = request.routeOptions.config;
    if (isForAnybody) return;
    const { method } = request;
    const header = (name: string): string | undefined => request.headers[name]?.toString();
    const attributes = { 'http.request.method': method, 'http.route': route };
    this.#spans.set(request, this.#tracer.begin(`${method} ${route}`, header, attributes));
  }

  end(request: FastifyRequest, { status, revision }: TracedAnswer): void {
    const span = this.#spans.get(request);
    if (span === undefined) return;
    const isFault = status !== undefined && status >= 500;
    span.set({
      'http.response.status_code': status,
      'error.type': status === undefined ? CLIENT_GONE : isFault ? String(status) : undefined,
      'cairn.revision': revision === undefined ? undefined : Number(revision),
    });
    if (isFault) span.fail();
    span.end();
  }

  /** Undefined: it is not traced. */
  spanOf(request: FastifyRequest): Span | undefined {
    return this.#spans.get(request);
  }
}
