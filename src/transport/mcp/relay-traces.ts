/**
 * What a trace shows of a request that the node of its session answers: where it came in, and that it was passed on.
 * The other node goes on with the trace; a call whose own context is in its `_meta` has a link to it instead.
 *
 * Only what is sent is shown: a stream lasts for as long as its client likes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ending, type RelayResult, type TraceHeaders, type Tracer } from '#observability';
import type { Place } from '../holder-pulse.ts';

export interface TracedRelay {
  readonly request: IncomingMessage;
  /** Where the node is that has the session. */
  readonly place: Place;
  readonly response: ServerResponse;
}

const NO_HEADERS: TraceHeaders = {};
const NOT_PASSED: ReadonlySet<RelayResult> = new Set(['unreached', 'lost', 'broken']);

export async function inRelaySpan(
  tracer: Tracer | undefined,
  { request, place, response }: TracedRelay,
  pass: (headers: TraceHeaders) => Promise<RelayResult>,
): Promise<RelayResult> {
  if (tracer === undefined || request.method !== 'POST') return pass(NO_HEADERS);
  const header = (name: string): string | undefined => request.headers[name]?.toString();
  const attributes = { 'http.request.method': 'POST', 'http.route': '/' };
  const span = tracer.begin('POST /', header, attributes);
  const relay = span.child('cairn.relay', 'client', {
    'cairn.relay.protocol': 'mcp',
    'server.address': place.host,
    'server.port': Number(place.port),
  });
  try {
    return await ending(relay, async () => {
      // Of a trace that is not kept here the other node hears what the client has said.
      const result = await pass(span.isRecorded ? relay.headers() : NO_HEADERS);
      relay.set({ 'cairn.relay.result': result });
      if (NOT_PASSED.has(result)) relay.fail();
      return result;
    });
  } finally {
    span.set({ 'http.response.status_code': response.headersSent ? response.statusCode : undefined });
    span.end();
  }
}
