/**
 * #observability: what a node tells its operators.
 *
 * For: structured logs (one constant event name and fields), the catalogue of every metric, and the endpoint that
 * Prometheus scrapes. Layers receive the ports `Logger` and `Metrics`; pino and prom-client are known only here.
 *
 * Not here: deciding what is worth telling (the layers do), traces (they come with the components), health (the
 * service answers that).
 *
 * Invariants:
 *   O1  Every metric is in the catalogue and in docs/metrics.md, with help, unit suffix and closed labels; a label
 *       with open values is cut off at its bound, beyond which counts go to `other` and levels are left out.
 *   O2  A log line is one JSON object on stderr with a constant `event`; stdout belongs to the ready line.
 */
export { createLogger, LOG_LEVELS, type LogFields, type Logger, type LogLevel, silentLogger } from './logger.ts';
export { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound, type MetricDefinition } from './metric-catalogue.ts';
export type {
  CounterLabels,
  CounterName,
  GaugeLabels,
  GaugeName,
  GrpcMethodLabels,
  GuestCache,
  GuestFault,
  GuestPool,
  HistogramLabels,
  HistogramName,
  MetricName,
  RelayProtocol,
  RelayResult,
  TransactionResult,
} from './metric-names.ts';
export { type Count, createMetrics, type Level, type Metrics, type Observe, type Series } from './metrics.ts';
export { type MetricsServer, startMetricsServer } from './metrics-server.ts';
