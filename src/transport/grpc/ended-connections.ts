/** Reports connections that were ended because of their input, in a metric and in the log. */
import { formatAddress } from '#base';
import type { Logger, Metrics } from '#observability';
import type { EndedConnection, EndReason } from './wire/parts.ts';
import { ENDED } from './wire/refusals.ts';

/** Each connection has a log line; the lines of a crowd are limited to this number a minute. */
const LINES_MAX = 10;
const MINUTE_MS = 60_000;

export function endedConnections(
  logger: Logger,
  metrics: Metrics,
): (why: EndReason, connection: EndedConnection) => void {
  let minuteMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return (why, connection) => {
    metrics.counter('cairn_grpc_connections_ended_total', { reason: why }).add();
    const nowMs = performance.now();
    if (nowMs - minuteMs >= MINUTE_MS) {
      minuteMs = nowMs;
      lines = 0;
    }
    lines += 1;
    if (lines <= LINES_MAX)
      logger.warn('grpc-connection-ended', { reason: why, peer: peerOf(connection), message: ENDED[why] });
  };
}

/** Empty when its socket has closed already. */
function peerOf({ destroyed, socket }: EndedConnection): string {
  return destroyed ? '' : formatAddress({ host: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 });
}
