/** Implements the tracer port on OpenTelemetry, whose library handles ids, sampling and W3C Trace Context. */
import {
  type Context,
  type Link,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  failureAttributes,
  type HeaderOf,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type TraceHeaders,
  type Tracer,
} from '../tracer.ts';

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  internal: OtelSpanKind.INTERNAL,
};

/** Longer headers are not valid trace contexts: W3C allows at most 512 characters of state and 55 of parent. */
const HEADER_LENGTH_MAX = 1_024;

const W3C = new W3CTraceContextPropagator();
const GETTER: TextMapGetter<HeaderOf> = {
  keys: () => W3C.fields(),
  get: (header, name) => {
    const value = header(name);
    return value !== undefined && value.length <= HEADER_LENGTH_MAX ? value : undefined;
  },
};

const SETTER: TextMapSetter<Record<string, string>> = {
  set: (carrier, name, value) => {
    carrier[name] = value;
  },
};

export function otelTracer(tracer: OtelTracer): Tracer {
  return {
    begin: (name, from, attributes = {}) => {
      const remote = W3C.extract(ROOT_CONTEXT, from, GETTER);
      return new RunningSpan(tracer, remote, { name, kind: 'server', attributes });
    },
  };
}

interface Beginning {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
}

class RunningSpan implements Span {
  readonly #tracer: OtelTracer;
  readonly #span: OtelSpan;
  readonly isRecorded: boolean;

  constructor(tracer: OtelTracer, parent: Context, { name, kind, attributes }: Beginning) {
    this.#tracer = tracer;
    this.#span = tracer.startSpan(name, { kind: KINDS[kind], attributes: present(attributes) }, parent);
    this.isRecorded = this.#span.isRecording();
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  child(name: string, kind: SpanKind, attributes: SpanAttributes = {}): Span {
    return this.isRecorded ? new RunningSpan(this.#tracer, this.#context, { name, kind, attributes }) : this;
  }

  set(attributes: SpanAttributes): void {
    if (this.isRecorded) this.#span.setAttributes(present(attributes));
  }

  event(name: string): void {
    this.#span.addEvent(name);
  }

  link(context: HeaderOf): void {
    const link = this.isRecorded ? linkTo(context) : undefined;
    if (link !== undefined) this.#span.addLink(link);
  }

  headers(): TraceHeaders {
    const headers: Record<string, string> = {};
    W3C.inject(this.#context, headers, SETTER);
    return headers;
  }

  fail(failure?: unknown): void {
    if (!this.isRecorded) return;
    if (failure !== undefined) this.set(failureAttributes(failure));
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }

  get #context(): Context {
    return trace.setSpan(ROOT_CONTEXT, this.#span);
  }
}

function linkTo(context: HeaderOf): Link | undefined {
  const linked = trace.getSpanContext(W3C.extract(ROOT_CONTEXT, context, GETTER));
  return linked === undefined ? undefined : { context: linked };
}

function present(attributes: SpanAttributes): Record<string, string | number | boolean> {
  const given: Record<string, string | number | boolean> = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) given[name] = value;
  }
  return given;
}
