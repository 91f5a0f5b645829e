/**
 * The port by which layers say what a request spends its time on. Its adapter on OpenTelemetry is loaded when spans are
 * to be exported, and only then (tracing.ts).
 *
 * A span is handed on explicitly, in what a request carries anyway: Node carries no asynchronous context here
 * (docs/adr/0017-memory-of-the-process.md). Without a tracer no span is created.
 *
 * What spans say is closed: names of operations and routes, codes, numbers, and of the data the names of databases and
 * components. No payload, credential, path or query string, and no message of an error, which may repeat what was sent.
 */
import { DatabaseError } from '#base';

/** Members without a value are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanKind = 'server' | 'client' | 'internal';

/** What a header says, by its lowercase name. */
export type HeaderOf = (name: string) => string | undefined;

/** Headers of W3C Trace Context. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface Span {
  /** Of its trace: 32 digits, in hexadecimal. */
  readonly traceId: string;
  /** False: of this trace nothing is kept, and only its headers go on. */
  readonly isRecorded: boolean;
  /** Begins now. Of one that is not recorded it is the same again. */
  child(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** Something happens now. */
  event(name: string): void;
  /** Names the span of another trace that this one follows from; what is no trace context is passed over. */
  link(context: HeaderOf): void;
  /** By which whoever is asked on goes on with the trace. */
  headers(): TraceHeaders;
  /** It has failed, for this reason; without one, as its attributes say. */
  fail(failure?: unknown): void;
  /** Once. */
  end(): void;
}

export interface Tracer {
  /** The span of a request that comes in, in the trace that its headers name, or in a new one. */
  begin(name: string, from: HeaderOf, attributes?: SpanAttributes): Span;
}

/** What is traced of whatever has it. */
export interface Traced {
  /** Absent: nothing is traced. */
  readonly span?: Span | undefined;
}

/** Works in a child of the span, if there is one, which ends when the work does. */
export async function inSpan<Answer>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Answer | Promise<Answer>,
): Promise<Answer> {
  if (parent === undefined) return work(undefined);
  const span = parent.child(name, 'internal');
  return ending(span, () => work(span));
}

/** What a span says of a failure. */
export function failureAttributes(failure: unknown): SpanAttributes {
  if (!(failure instanceof DatabaseError)) return { 'error.type': 'internal' };
  return { 'error.type': failure.code, 'cairn.error.reason': failure.details.reason };
}

/** Of a log line about a request, so that it is found from the trace and the other way round. */
export function traceFields(span: Span | undefined): { readonly trace_id?: string } {
  return span === undefined ? NO_FIELDS : { trace_id: span.traceId };
}

const NO_FIELDS = {};

/** Does the work in the span, which ends with it, and fails if it does. */
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
