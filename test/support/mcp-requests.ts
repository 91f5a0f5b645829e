/** Bare requests of MCP, where a client of the protocol would not do what is asked for. */
import { eventually } from './eventually.ts';

export type Headers = Readonly<Record<string, string>>;

export interface McpSent {
  readonly status: number;
  readonly session: string | null;
  readonly text: string;
  readonly headers: Response['headers'];
}

export const BOTH = 'application/json, text/event-stream';

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
export const READY = { jsonrpc: '2.0', method: 'notifications/initialized' };
export const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

export async function send(url: string, body: unknown, headers: Headers = {}): Promise<McpSent> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: BOTH, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const { status } = response;
  const session = response.headers.get('mcp-session-id');
  return { status, session, text: await response.text(), headers: response.headers };
}

/** The header of a session that began at the node, and the Authorization that each of its requests has. */
export async function begun(url: string, headers: Headers = {}): Promise<Headers> {
  const { session, text } = await send(url, INITIALIZE, headers);
  if (session === null) throw new Error(text);
  const { authorization } = headers;
  return { 'mcp-session-id': session, ...(authorization !== undefined && { authorization }) };
}

/** Until a session that began at the one is known at the other. */
export async function untilPassedOn(from: string, to: string, headers: Headers = {}): Promise<void> {
  const session = await begun(to, headers);
  await eventually(async () => {
    const { status, text } = await send(from, READY, { ...headers, ...session });
    if (status !== 202) throw new Error(text);
  });
}
