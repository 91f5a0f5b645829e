/**
 * What a trace shows of a call of MCP: a server span for each, in the trace that its `_meta` names (`traceparent`), or
 * else the HTTP request that it came with; where both name one it has a link to the other. Of what was asked it tells
 * the tool, and nothing of its arguments.
 */
import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import type { HeaderOf, Span, Tracer } from '#observability';

export interface TracedCall {
  readonly context: CallContext;
  /** A tool that there is; absent: the method says all. */
  readonly tool?: string | undefined;
}

type CallContext = Pick<ServerContext, 'mcpReq' | 'http'>;

/** Works in the span of the call; without a tracer there is none. */
export async function inCallSpan<Answer>(
  tracer: Tracer | undefined,
  { context, tool }: TracedCall,
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

/** Both headers from the same place: a state is one of its parent. */
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
