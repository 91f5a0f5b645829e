/** Traces that a client has started, and queries about their spans in the collector. */
import type { OtlpReceiver, ReceivedSpan } from './otlp-receiver.ts';

export interface RemoteTrace {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceparent: string;
}

let count = 0;

/** A trace of a remote client, sampled unless the flags say otherwise. */
export function remote(flags = '01'): RemoteTrace {
  count += 1;
  const traceId = count.toString(16).padStart(32, 'a');
  const spanId = count.toString(16).padStart(16, 'b');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

export function spansOf(receiver: OtlpReceiver, traceId: string): readonly ReceivedSpan[] {
  return receiver.spans.filter((span) => span.traceId === traceId);
}

/** Waits until the trace has these spans, each as often as it is named, and returns all its spans. */
export async function traceWith(
  receiver: OtlpReceiver,
  traceId: string,
  ...names: readonly string[]
): Promise<readonly ReceivedSpan[]> {
  await receiver.until(`${names.join(' and ')} in ${traceId}`, () => {
    const known = spansOf(receiver, traceId).map(({ name }) => name);
    const countIn = (all: readonly string[], name: string): number => all.filter((each) => each === name).length;
    return names.every((name) => countIn(known, name) >= countIn(names, name));
  });
  return spansOf(receiver, traceId);
}

/** Names of the spans from the root of the trace to a span. */
export function wayTo(name: string, spans: readonly ReceivedSpan[]): readonly string[] {
  const way: string[] = [];
  for (let span = spans.find((each) => each.name === name); span !== undefined; ) {
    way.unshift(span.name);
    const { parentId } = span;
    span = spans.find(({ spanId }) => spanId === parentId);
  }
  return way;
}

export function named(name: string, spans: readonly ReceivedSpan[], kind?: ReceivedSpan['kind']): ReceivedSpan {
  const found = spans.find((span) => span.name === name && (kind === undefined || span.kind === kind));
  if (found === undefined) throw new Error(`there is no span ${name}`);
  return found;
}
