/**
 * Spans on their way out of the process. The SDK of OpenTelemetry is loaded here, when somebody asks for it: without an
 * endpoint it is not in the process (O3).
 */
import type { Tracing, TracingOptions } from './otel/open-tracing.ts';

export type { Tracing } from './otel/open-tracing.ts';

export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { openTracing } = await import('./otel/open-tracing.ts');
  return openTracing(options);
}
