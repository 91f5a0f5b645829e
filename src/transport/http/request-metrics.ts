/**
 * Counts requests: how long each took by method, route and status, and how many are being answered.
 *
 * Labels are closed: the route is its template, never a path with names in it; a method that no route has is `other`.
 */
import type { Count, Level, Metrics, Observe } from '#observability';
import type { RedirectReason } from './reply.ts';

/** The route label of a request that no route takes. */
export const UNMATCHED_ROUTE = 'unmatched';

/** The status label of a request whose client left before the reply was sent, as nginx has it. */
const CLIENT_GONE = 499;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];

const MS_PER_SECOND = 1000;

export interface AnsweredRequest {
  readonly method: string;
  readonly route: string;
  /** Undefined when the client left before the reply was sent. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #inFlight: Level;
  readonly #redirects: Readonly<Record<RedirectReason, Count>>;
  readonly #durations = new Map<string, Observe>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'http' });
    this.#redirects = {
      latest: metrics.counter('cairn_redirects_total', { reason: 'latest' }),
      cached: metrics.counter('cairn_redirects_total', { reason: 'cached' }),
      effective_time: metrics.counter('cairn_redirects_total', { reason: 'effective_time' }),
    };
  }

  redirected(reason: RedirectReason): void {
    this.#redirects[reason].add();
  }

  begin(): void {
    this.#inFlight.move(1);
  }

  end({ method, route, status = CLIENT_GONE, durationMs }: AnsweredRequest): void {
    this.#inFlight.move(-1);
    const known = METHODS.includes(method) ? method : 'other';
    this.#duration(known, route, String(status)).observe(durationMs / MS_PER_SECOND);
  }

  #duration(method: string, route: string, code: string): Observe {
    const key = `${method} ${route} ${code}`;
    const known = this.#durations.get(key);
    if (known !== undefined) return known;
    const created = this.#metrics.histogram('http_server_request_duration_seconds', { method, route, code });
    this.#durations.set(key, created);
    return created;
  }
}
