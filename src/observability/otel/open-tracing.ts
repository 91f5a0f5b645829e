/** Loads and starts OpenTelemetry without global state: no context manager, propagator or instrumentation. */
import { setTimeout as delay } from 'node:timers/promises';
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

/** Spans that are in `ended` but not in `exported` wait or are lost. */
export interface SpanCounts {
  readonly ended: Count;
  readonly exported: Count;
}

export interface TracingOptions {
  /** Base URL of a collector that accepts OTLP over HTTP; spans are sent to `/v1/traces` below it. */
  readonly endpoint: string;
  /** Share of the traces started here that is sampled, 0 to 1. The context of a request decides for its own trace. */
  readonly sampleRatio: number;
  /** Name of this node. */
  readonly name: string;
  readonly version: string;
  readonly logger: Logger;
  readonly counts: SpanCounts;
}

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the remaining spans within the given time. Spans that end later are dropped. */
  close(withinMs: number): Promise<void>;
}

const SERVICE = 'cairn';
/** Timeout of one export, including retries. */
const EXPORT_MS = 5_000;
/** Maximum number of waiting spans, of about 2 KiB each. */
const SPANS_MAX = 4_096;
const DELAY_MS = 1_000;
/** Minimum time between two log lines about failed exports. */
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
      return Promise.race([closed, delay(withinMs, undefined, { ref: false })]);
    },
  };
}

function counting(ended: Count): SpanProcessor {
  const nothing = async (): Promise<void> => undefined;
  return { onStart: () => undefined, onEnd: () => ended.add(), forceFlush: nothing, shutdown: nothing };
}

/** Counts exported spans, and logs failed exports at most once a minute. */
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
