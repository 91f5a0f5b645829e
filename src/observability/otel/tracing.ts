/** Starts the export of trace spans. The OpenTelemetry SDK is loaded only when an endpoint is configured (O3). */
import type { Tracing, TracingOptions } from './open-tracing.ts';

export type { Tracing } from './open-tracing.ts';

export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { openTracing } = await import('./open-tracing.ts');
  return openTracing(options);
}
