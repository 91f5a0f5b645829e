/** Loads and starts OpenTelemetry. Nothing of it is global: no context manager, no propagator, no instrumentation. */
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import type { Count } from '../metrics.ts';
import type { Tracer } from '../tracer.ts';
import { otelTracer } from './otel-tracer.ts';

/** Spans that are in `ended` and not in `exported` wait or are lost. */
export interface SpanCounts {
  readonly ended: Count;
  readonly exported: Count;
}

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
/** Spans that wait, of about 2 KiB each. */
const SPANS_MAX = 4_096;
const DELAY_MS = 1_000;
/** Between two log lines about failed exports. */
const LOG_EVERY_MS = 60_000;
const TRACES_PATH = '/v1/traces';

export function openTracing(options: TracingOptions): Tracing {
  const { endpoint, sampleRatio, name, version, logger, counts } = options;
  const url = `${endpoint.replace(/\/+$/, '')}${TRACES_PATH}`;
  const exporter = watched(new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS }), { logger, counts });
  const batches = new BatchSpanProcessor({ exporter, maxQueueSize: SPANS_MAX, scheduledDelayMillis: DELAY_MS });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': SERVICE,
        'service.version': version,
        'service.instance.id': name,
      }),
    ),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [counting(counts.ended), batches],
  });
  return {
    tracer: otelTracer(provider.getTracer(SERVICE, version)),
    close: (withinMs) => {
      const closed = provider.shutdown().catch((error: unknown) => logger.warn('tracing-not-closed', { error }));
      return withinTime(closed, withinMs);
    },
  };
}

function counting(ended: Count): SpanProcessor {
  const nothing = async (): Promise<void> => undefined;
  return { onStart: () => undefined, onEnd: () => ended.add(), forceFlush: nothing, shutdown: nothing };
}

/** Counts exported spans, and logs failed exports once a minute. */
function watched(exporter: SpanExporter, { logger, counts }: Pick<TracingOptions, 'logger' | 'counts'>): SpanExporter {
  let loggedMs = Number.NEGATIVE_INFINITY;
  const failed = (spans: number, error: Error | undefined): void => {
    const nowMs = performance.now();
    if (nowMs - loggedMs < LOG_EVERY_MS) return;
    loggedMs = nowMs;
    logger.warn('spans-not-exported', { spans, why: error?.message });
  };
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) counts.exported.add(spans.length);
        else failed(spans.length, result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
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
