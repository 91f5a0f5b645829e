/** Loads and starts OpenTelemetry. Nothing of it is global: no context manager, no propagator, no instrumentation. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import type { Tracer } from '../tracer.ts';
import { otelTracer } from './otel-tracer.ts';
import { type SpanCounts, SpanQueue } from './span-queue.ts';

export interface TracingOptions {
  /** The base URL of a collector that speaks OTLP over HTTP: spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** Of the traces that begin here, the share that is kept, 0 to 1. What came with a trace decides for itself. */
  readonly sampleRatio: number;
  /** Of this node. */
  readonly name: string;
  readonly version: string;
  readonly logger: Logger;
  readonly counts: SpanCounts;
}

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is left, for so long at most. Spans that end afterwards are dropped. */
  close(withinMs: number): Promise<void>;
}

const SERVICE = 'cairn';
/** Of one export with all its repetitions. */
const EXPORT_MS = 5_000;
const TRACES_PATH = '/v1/traces';

export function openTracing(options: TracingOptions): Tracing {
  const { endpoint, sampleRatio, name, version, logger, counts } = options;
  const url = `${endpoint.replace(/\/+$/, '')}${TRACES_PATH}`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS });
  const queue = new SpanQueue({ exporter, logger, counts });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': SERVICE,
        'service.version': version,
        'service.instance.id': name,
      }),
    ),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [queue],
  });
  return {
    tracer: otelTracer(provider.getTracer(SERVICE, version)),
    close: (withinMs) => {
      const closed = provider.shutdown().catch((error: unknown) => logger.warn('tracing-not-closed', { error }));
      return withinTime(closed, withinMs);
    },
  };
}

/** Resolves when the work has ended, or then. */
async function withinTime(work: Promise<void>, withinMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, withinMs);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
