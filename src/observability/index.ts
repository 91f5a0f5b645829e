/**
 * #observability: what a node tells its operators.
 *
 * For: structured logs (one constant event name and fields), the catalogue of every metric, the endpoint that
 * Prometheus scrapes, and the spans of traces. Layers receive the ports `Logger`, `Metrics` and `Tracer`; pino,
 * prom-client and OpenTelemetry are known only here.
 *
 * Not here: deciding what is worth telling (the layers do), health (the service answers that).
 *
 * Invariants:
 *   O1  Every metric is in the catalogue and in docs/metrics.md, with help, unit suffix and closed labels; a label
 *       with open values is cut off at its bound, beyond which counts go to `other` and levels are left out.
 *   O2  A log line is one JSON object on stderr with a constant `event`; stdout belongs to the ready line.
 *   O3  Without an endpoint for spans nothing of OpenTelemetry's SDK is loaded. With one, what a collector does not take is
 *       dropped and counted: no request waits for it, or fails.
 */
export { createLogger, LOG_LEVELS, type LogFields, type Logger, type LogLevel, silentLogger } from './logger.ts';
export { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound } from './metric-catalogue.ts';
export {
  type CounterLabels,
  type GrpcMethodLabels,
  type GuestCache,
  type GuestFault,
  type GuestPool,
  MCP_METHODS,
  type McpMethod,
  type McpSessionEnd,
  type RateLimitedBy,
  type RateLimitedProtocol,
  type RelayProtocol,
  type RelayResult,
  type TransactionResult,
} from './metric-names.ts';
export { type Count, createMetrics, type Level, type Metrics, type Observe, type Series } from './metrics.ts';
export { type MetricsServer, startMetricsServer } from './metrics-server.ts';
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
export { startTracing, type Tracing } from './tracing.ts';
