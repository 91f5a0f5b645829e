/** Server spans of gRPC calls, with the attribute names of OpenTelemetry. */
import { type Traced, type Tracer, traceFields } from '#observability';
import type { Call } from './wire/call.ts';
import type { CallTrace } from './wire/method-traits.ts';
import type { CallStatus } from './wire/status.ts';

/** Statuses that are faults of the node, not of the client. */
const FAULTS: ReadonlySet<string> = new Set<CallStatus['code'] | 'UNKNOWN'>([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** Probes are not traced: they are frequent and tell nothing. */
export function tracingCalls(tracer: Tracer): (call: Call) => CallTrace | undefined {
  return (call) => {
    const { service, name, isProbe = false } = call.method;
    if (isProbe) return undefined;
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': `${service}/${name}` };
    const span = tracer.begin(`${service}/${name}`, (header) => call.header(header), attributes);
    return {
      span,
      fields: traceFields(span),
      ended: (code) => {
        const failed = FAULTS.has(code) ? { 'error.type': code } : {};
        span.set({ 'rpc.response.status_code': code, ...failed });
        if (FAULTS.has(code)) span.fail();
        span.end();
      },
    };
  };
}

const NOT_TRACED: Traced = {};

export function tracedAs({ trace }: Call): Traced {
  return trace?.span.isRecorded === true ? { span: trace.span } : NOT_TRACED;
}
