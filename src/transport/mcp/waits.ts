/**
 * How long it took to find out who asks, for the traces of what was asked: that is known before there is a span. The
 * library hands it on with the request, as what somebody before it has found out (`auth`).
 */
import type { IncomingMessage } from 'node:http';
import type { Span, Tracer } from '#observability';
import { AUTHENTICATE } from '../access.ts';

/** Milliseconds since 1970. */
export interface Wait {
  readonly startMs: number;
  readonly endMs: number;
}

/** Its form of it, which has to be whole. */
interface HandedOn {
  readonly token: '';
  readonly clientId: '';
  readonly scopes: string[];
  readonly extra: { readonly waited: Wait };
}

export function handOn(request: IncomingMessage & { auth?: HandedOn }, waited: Wait): void {
  request.auth = { token: '', clientId: '', scopes: [], extra: { waited } };
}

export function handedOn(auth: { readonly extra?: Readonly<Record<string, unknown>> } | undefined): Wait | undefined {
  const waited = auth?.extra?.['waited'];
  return isWait(waited) ? waited : undefined;
}

function isWait(value: unknown): value is Wait {
  return typeof value === 'object' && value !== null && 'startMs' in value && 'endMs' in value;
}

/** Below the span of what was asked. */
export function recordWait(tracer: Tracer, span: Span, wait: Wait | undefined): void {
  if (wait === undefined || !span.isRecorded) return;
  const headers = span.headers();
  const parent = (name: string): string | undefined => headers[name];
  tracer.record({ name: AUTHENTICATE, parent, ...wait });
}
