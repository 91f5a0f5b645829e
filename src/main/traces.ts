/** Opens tracing, from the settings. */
import { type Logger, type Metrics, startTracing, type Tracing } from '#observability';
import { RELEASE } from './release.ts';
import type { Config } from './settings.ts';

interface TraceParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Undefined without tracing; nothing is loaded then. */
export async function openTracing(config: Config, { logger, metrics }: TraceParts): Promise<Tracing | undefined> {
  const { otlpEndpoint: endpoint, traceSampleRatio: sampleRatio, nodeName: name } = config;
  if (endpoint === 'off') return undefined;
  const counts = {
    ended: metrics.counter('cairn_trace_spans_ended_total', {}),
    exported: metrics.counter('cairn_trace_spans_exported_total', {}),
  };
  return startTracing({ endpoint, sampleRatio, name, version: RELEASE, logger, counts });
}
