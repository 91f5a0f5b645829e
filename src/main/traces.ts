/** The traces of a node, by its settings. */
import { type Logger, type Metrics, startTracing, type Tracing } from '#observability';
import { RELEASE } from './release.ts';
import type { Config } from './settings.ts';

interface TraceParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Undefined: nothing is traced, and nothing is loaded for it. */
export async function openTracing(config: Config, { logger, metrics }: TraceParts): Promise<Tracing | undefined> {
  const { otlpEndpoint: endpoint, traceSampleRatio: sampleRatio, nodeName: name } = config;
  if (endpoint === 'off') return undefined;
  const counts = {
    ended: metrics.counter('cairn_trace_spans_ended_total', {}),
    exported: metrics.counter('cairn_trace_spans_exported_total', {}),
  };
  return startTracing({ endpoint, sampleRatio, name, version: RELEASE, logger, counts });
}
