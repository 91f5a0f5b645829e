/**
 * Server spans of MCP calls, in the trace that `_meta` names (`traceparent`), or else in that of the HTTP request;
 * where both name one, the span links to the other. Spans name the tool, but not its arguments.
 */
import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import type { HeaderOf, Span, Tracer } from '#observability';

type CallContext = Pick<ServerContext, 'mcpReq' | 'http'>;

/** Runs the work in the span of the call, if there is a tracer. `tool`: name of an existing one. */
export async function inCallSpan<Answer>(
  tracer: Tracer | undefined,
  { context, tool }: { readonly context: CallContext; readonly tool?: string | undefined },
  work: (span: Span | undefined) => Promise<Answer>,
): Promise<Answer> {
  if (tracer === undefined) return work(undefined);
  const { method } = context.mcpReq;
  const attributes = { 'mcp.method.name': method, 'gen_ai.tool.name': tool };
  const name = tool === undefined ? method : `${method} ${tool}`;
  const span = tracer.begin(name, contextOf(context), attributes);
  if (isOfMeta(context)) span.link(headerOf(context));
  try {
    return await work(span);
  } catch (error) {
    span.set({ 'error.type': error instanceof ProtocolError ? String(error.code) : 'internal' });
    span.fail();
    throw error;
  } finally {
    span.end();
  }
}

/** Both headers come from the same source: a trace state belongs to its parent. */
function contextOf(context: CallContext): HeaderOf {
  if (!isOfMeta(context)) return headerOf(context);
  const { _meta: meta = {} } = context.mcpReq;
  return (name) => {
    const value = meta[name];
    return typeof value === 'string' ? value : undefined;
  };
}

function isOfMeta({ mcpReq: { _meta: meta = {} } }: CallContext): boolean {
  return typeof meta['traceparent'] === 'string';
}

function headerOf({ http }: CallContext): HeaderOf {
  return (name) => http?.req?.headers.get(name) ?? undefined;
}
