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

/** Begins the span of a request. Probes and files of pages are not traced: they are frequent and tell nothing. */
export function beginSpan(tracer: Tracer, { method, headers, routeOptions }: FastifyRequest): Span | undefined {
  const { label = UNMATCHED_ROUTE, route } = routeOptions.config;
  if (route?.isForAnybody === true) return undefined;
  const attributes = { 'http.request.method': method, 'http.route': label };
  return tracer.begin(`${method} ${label}`, (name) => headers[name]?.toString(), attributes);
}

export function endSpan(span: Span, { status, revision }: TracedAnswer): void {
  const isFault = status !== undefined && status >= 500;
  span.set({
    'http.response.status_code': status,
    'error.type': status === undefined ? CLIENT_GONE : isFault ? String(status) : undefined,
    'cairn.revision': revision === undefined ? undefined : Number(revision),
  });
  if (isFault) span.fail();
  span.end();
}
