/** Tells operators of connections that were closed for want of file descriptors: each in a metric, some in the log. */
import type { Logger, Metrics } from '#observability';
import type { ClosedConnection } from './connection-bound.ts';

/** A crowd that comes again and again is told of once in this time. */
const NOTE_EVERY_MS = 60_000;

export function closedConnections(logger: Logger, metrics: Metrics): (closed: ClosedConnection) => void {
  const total = metrics.counter('cairn_connections_closed_total', {});
  let notedMs = Number.NEGATIVE_INFINITY;
  return ({ server, bound, countMax }) => {
    total.add();
    const nowMs = performance.now();
    if (nowMs - notedMs < NOTE_EVERY_MS) return;
    notedMs = nowMs;
    const message = `${countMax} connections ${bound} are open, which is the most within the limit of open files; another one of ${server} was closed as it came. Raise the limit (ulimit -n, LimitNOFILE)`;
    logger.warn('connection-closed', { port: server, countMax, message });
  };
}
