/**
 * #observability: logs, metrics and traces.
 *
 * Purpose: structured logs (one constant event name and fields), the catalogue of every metric, the endpoint that
 * Prometheus scrapes, and trace spans. Layers receive the ports `Logger`, `Metrics` and `Tracer`; only this layer knows
 * pino, prom-client and OpenTelemetry.
 *
 * Not here: the decision what to log or count (the layers make it), and health (#service).
 *
 * Invariants:
 *   O1  Every metric is in the catalogue and in docs/metrics.md, with help, unit suffix and closed labels; a label
 *       with open values has a bound, beyond which counts go to `other` and levels are omitted.
 *   O2  A log line is one JSON object on stderr with a constant `event`; stdout belongs to the ready line.
 *   O3  Without an endpoint for spans the OpenTelemetry SDK is not loaded. With one, spans that a collector refuses are
 *       dropped and counted: no request waits for it, or fails.
 */
export { createLogger, LOG_LEVELS, type LogFields, type Logger, type LogLevel, silentLogger } from './logger.ts';
export { COUNTERS, GAUGES, HISTOGRAMS } from './metric-catalogue.ts';
export {
  type CounterLabels,
  describe as describeMetric,
  type GrpcMethodLabels,
  type GuestCache,
  type GuestPool,
  type LabelBound,
  MCP_METHODS,
  type McpMethod,
  type McpSessionEnd,
  type MetricDefinition,
  type RateLimitedProtocol,
  type RelayProtocol,
  type RelayResult,
  type TransactionResult,
} from './metric-names.ts';
export { type Count, createMetrics, type Level, type Metrics, type Observe, type Series } from './metrics.ts';
export { type MetricsServer, startMetricsServer } from './metrics-server.ts';
export { startTracing, type Tracing } from './otel/tracing.ts';
export {
  answerProbe,
  PROBE_PATHS,
  type ProbeCheck,
  type ProbePath,
  type Probes,
  probeReply,
  VERBOSE,
} from './probes.ts';
export {
  ending,
  type HeaderOf,
  inSpan,
  type Span,
  type Traced,
  type TraceHeaders,
  type Tracer,
  traceFields,
} from './tracer.ts';
