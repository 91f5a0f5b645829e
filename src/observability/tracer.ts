/**
 * The port through which layers record trace spans. Its adapter on OpenTelemetry is loaded only when spans are exported
 * (otel/tracing.ts).
 *
 * Spans are passed explicitly with the request: the process runs without asynchronous contexts of Node.js
 * (docs/adr/0017-memory-of-the-process.md). Without a tracer no span is created.
 *
 * Spans contain only names of operations and routes, codes, numbers, and the names of databases and components. They
 * never contain a payload, credential, path, query string or error message, which may repeat request data.
 */
import { DatabaseError } from '#base';

/** Attributes without a value are omitted. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanKind = 'server' | 'client' | 'internal';

/** Returns the value of a header by its lowercase name. */
export type HeaderOf = (name: string) => string | undefined;

/** Headers of W3C Trace Context. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface Span {
  /** Id of the trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** False: the trace is not sampled, and only its headers are propagated. */
  readonly isRecorded: boolean;
  /** Starts a child span. A span that is not recorded returns itself. */
  child(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** Records an event now. */
  event(name: string): void;
  /** Links to a span of another trace; an invalid trace context is ignored. */
  link(context: HeaderOf): void;
  /** Headers that let another process continue the trace. */
  headers(): TraceHeaders;
  /** Marks the span as failed, with this reason or with its attributes. */
  fail(failure?: unknown): void;
  /** Ends the span; called once. */
  end(): void;
}

export interface Tracer {
  /** Starts the span of an incoming request, in the trace of its headers or in a new one. */
  begin(name: string, from: HeaderOf, attributes?: SpanAttributes): Span;
}

/** Carries the span of a request. */
export interface Traced {
  /** Absent without tracing. */
  readonly span?: Span | undefined;
}

/** Runs the work in a child of the span, if there is one; the child ends with the work. */
export async function inSpan<Answer>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Answer | Promise<Answer>,
): Promise<Answer> {
  if (parent === undefined) return work(undefined);
  const span = parent.child(name, 'internal');
  return ending(span, () => work(span));
}

/** Span attributes for a failure. */
export function failureAttributes(failure: unknown): SpanAttributes {
  if (!(failure instanceof DatabaseError)) return { 'error.type': 'internal' };
  return { 'error.type': failure.code, 'cairn.error.reason': failure.details.reason };
}

/** Field of a log line about a request, so that log and trace can be correlated. */
export function traceFields(span: Span | undefined): { readonly trace_id?: string } {
  return span === undefined ? NO_FIELDS : { trace_id: span.traceId };
}

const NO_FIELDS = {};

/** Runs the work and ends the span with it, as failed if the work fails. */
export async function ending<Value>(span: Span, work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (failure) {
    span.fail(failure);
    throw failure;
  } finally {
    span.end();
  }
}
