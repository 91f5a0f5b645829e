/** Loggers and metrics without output: simulated nodes report only through the trace. */
import type { Logger, Metrics } from '#observability';

export const quietLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  with: () => quietLogger,
  flush: nothing,
};

export const quietMetrics: Metrics = {
  counter: () => ({ add: nothing, raiseTo: nothing }),
  gauge: () => ({ set: nothing, move: nothing }),
  histogram: () => ({ observe: nothing }),
  setSeries: nothing,
  forgetPeer: nothing,
  beforeScrape: nothing,
  render: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
};

function nothing(): void {}
