/** Plain HTTP requests to an MCP endpoint, for tests of behaviour that an MCP client library would not produce. */
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

/** Opens a session. Returns its header, together with the given Authorization, which each request needs. */
export async function begun(url: string, headers: Headers = {}): Promise<Headers> {
  const { session, text } = await send(url, INITIALIZE, headers);
  if (session === null) throw new Error(text);
  const { authorization } = headers;
  return { 'mcp-session-id': session, ...(authorization !== undefined && { authorization }) };
}

/** Waits until the node `from` recognizes sessions that were opened at the node `to`. */
export async function untilPassedOn(from: string, to: string, headers: Headers = {}): Promise<void> {
  const session = await begun(to, headers);
  await eventually(async () => {
    const { status, text } = await send(from, READY, { ...headers, ...session });
    if (status !== 202) throw new Error(text);
  });
}
