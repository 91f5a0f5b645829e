/**
 * Server spans of HTTP requests, with the attribute names of OpenTelemetry.
 *
 * The route is its template. Spans have no path and query, which contain data such as subjects.
 */
import type { FastifyRequest } from 'fastify';
import type { Span, Tracer } from '#observability';
import { UNMATCHED_ROUTE } from './request-metrics.ts';

/** Outcome of a request. */
export interface TracedAnswer {
  /** Undefined when the client disconnected before it was sent. */
  readonly status: number | undefined;
  /** Revision of the reply. */
  readonly revision: string | undefined;
}

/** Status of a request whose client disconnected, which is not a failure of the node. */
const CLIENT_GONE = 'client_gone';

export class RequestTraces {
  readonly #tracer: Tracer;
  readonly #spans = new WeakMap<FastifyRequest, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Probes and files of pages are not traced: they are frequent and tell nothing. */
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

  /** Undefined when the request is not traced. */
  spanOf(request: FastifyRequest): Span | undefined {
    return this.#spans.get(request);
  }
}
