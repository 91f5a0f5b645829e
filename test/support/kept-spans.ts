/** A tracer that keeps ended spans in memory and exports nothing. */
import {
  ParentBasedSampler,
  type ReadableSpan,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Tracer } from '#observability';
import { otelTracer } from '../../src/observability/otel/otel-tracer.ts';

export interface KeptSpans {
  readonly tracer: Tracer;
  /** In order of their end. */
  readonly ended: readonly ReadableSpan[];
}

export function keptSpans(ratio: number = 1): KeptSpans {
  const ended: ReadableSpan[] = [];
  const nothing = async (): Promise<void> => undefined;
  const processor = { onStart: () => undefined, onEnd: (span: ReadableSpan) => void ended.push(span) };
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [{ ...processor, forceFlush: nothing, shutdown: nothing }],
  });
  return { tracer: otelTracer(provider.getTracer('test')), ended };
}
