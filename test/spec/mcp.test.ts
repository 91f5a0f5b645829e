// MCP: handshake, sessions, tools, resources and protocol revisions, with both SDKs and raw requests (TC1, TC3).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeText, NO_EVENT } from '../support/components/change-text.ts';
import { startHttpNode } from '../support/http-node.ts';
import {
  begun,
  type Headers,
  INITIALIZE,
  LIST,
  READY,
  type McpSent as Sent,
  send as sendTo,
} from '../support/mcp-requests.ts';
import { exchange, HALF_CLOSE, parseReplies } from '../support/raw-http.ts';
import { viewText, wat } from '../support/wasm/wat.ts';

const INFO = { name: 'test', version: '1' };
const LOCAL = { origin: 'http://localhost:5173' };
const { server } = await startHttpNode('--guest-executors=1');
const agent = new Client(INFO);

beforeAll(async () => {
  await agent.connect(new StreamableHTTPClientTransport(new URL(server.mcp)));
});

afterAll(() => agent.close());

const send = (body: unknown, headers: Headers = {}): Promise<Sent> => sendTo(server.mcp, body, headers);
const got = async (method: string, headers: Headers = {}, path = ''): Promise<Sent> => {
  const response = await fetch(`${server.mcp}${path}`, { method, headers });
  return { status: response.status, session: null, text: await response.text(), headers: response.headers };
};

async function ready(): Promise<Headers> {
  const session = await begun(server.mcp);
  await send(READY, session);
  return session;
}

async function called(name: string, given: Record<string, unknown>): Promise<string> {
  const { content } = (await agent.callTool({ name, arguments: given })) as {
    readonly content: readonly { readonly text?: string }[];
  };
  return content[0]?.text ?? '';
}

const post = (path: string, body: object): Promise<string> => called('fetch', { method: 'POST', path, body });

describe('SPEC-MCP-HANDSHAKE', () => {
  it('answers initialize with a session, as lines of id and data', async () => {
    const { status, session, text } = await send(INITIALIZE);
    expect([status, session]).toEqual([200, expect.stringMatching(/^1\.[0-9a-f-]{36}$/)]);
    expect(text).toMatch(/^id: \d+$/m);
    const data = /^data: (.+)$/m.exec(text)?.[1] ?? '';
    const wanted = { id: 1, result: { protocolVersion: '2025-03-26', serverInfo: { name: 'cairn' } } };
    expect(JSON.parse(data)).toMatchObject(wanted);
  });

  it('waits for notifications/initialized, which may arrive late, and refuses requests without it', async () => {
    const headers = await begun(server.mcp);
    const early = await send(LIST, headers);
    expect(early.status).toBe(400);
    expect(early.text).toContain('failed to create service: expect initialized notification');
    expect((await send({ jsonrpc: '2.0', id: 3, method: 'ping' }, headers)).status).toBe(200);
    const [overtaking, notified] = await Promise.all([send(LIST, headers), send(READY, headers)]);
    expect([overtaking.status, notified.status]).toEqual([200, 202]);
    expect(overtaking.text).toContain('execute_state_change');
  });

  it.each(['application/json', 'text/event-stream', '*/*'])(
    'needs both types in Accept, and refuses %s',
    async (accept) => {
      expect((await send(INITIALIZE, { accept })).status).toBe(406);
    },
  );

  it.each<[string, () => Promise<Sent>, number, RegExp]>([
    ['no session', () => send(LIST), 400, /mcp-session-id is required/],
    ['a session that never was', () => send(LIST, { 'mcp-session-id': 'x' }), 404, /\\"x\\" has ended, or never was/],
    ['what is no JSON', () => send('{'), 400, /-32700/],
    ['what is nested without end', () => send('['.repeat(100_000) + ']'.repeat(100_000)), 400, /at most 256 levels/],
    ['a name that is repeated', () => send('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'), 400, /is repeated/],
    ['more values than a body has', () => send(`[${'{},'.repeat(2 ** 17)}{}]`), 413, /at most 131072 values/],
    ['a batch that is too long', () => send([LIST, { ...LIST, params: 'x'.repeat(2 ** 20) }]), 413, /send large ones/],
    ['what is no message', () => send('5'), 400, /-32600/],
    ['another path', () => got('POST', {}, '/other'), 404, /MCP is at/],
    ['another method', () => got('PUT'), 405, /GET, POST, DELETE, OPTIONS/],
    ['a stream of no session', () => got('GET', { accept: 'text/event-stream' }), 400, /mcp-session-id is required/],
    ['another content type', () => send(LIST, { 'content-type': 'text/plain' }), 415, /application\/json/],
    ['a page of a stranger', () => send(INITIALIZE, { origin: 'https://evil.example' }), 403, /rigin/],
  ])('refuses %s', async (_what, ask, status, message) => {
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)]);
  });

  it('refuses an unknown session before the body has arrived', async () => {
    const head = `POST / HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: x\r\ncontent-type: application/json\r\n`;
    const [refused, behind] = parseReplies(
      await exchange(server.mcp, `${head}content-length: 20000000\r\n\r\n`, 'x'.repeat(20_000_000), HALF_CLOSE),
    );
    expect([refused?.status, refused?.body, behind]).toEqual([404, expect.stringMatching(/never was/), undefined]);
  });

  it('sends 100 Continue to a client that expects it', async () => {
    const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n`;
    const expecting = `${head}expect: 100-continue\r\ncontent-length: 1\r\n\r\n`;
    const replies = parseReplies(await exchange(server.mcp, expecting, '{'));
    expect(replies.map(({ status }) => status)).toEqual([100, 400]);
  });

  it.each(['//[', '//', 'http://a:99999/'])('has no resource at %s', async (target) => {
    const head = `POST ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
    const [reply] = parseReplies(await exchange(server.mcp, head));
    expect(reply?.status).toBe(404);
  });

  it('keeps an idle connection as long as HTTP does, and answers pages of localhost', async () => {
    const preflight = await got('OPTIONS', { ...LOCAL, 'access-control-request-method': 'POST' });
    const allowed = ['origin', 'methods', 'headers'].map((each) =>
      preflight.headers.get(`access-control-allow-${each}`),
    );
    const named = expect.stringMatching(/Content-Type.*Authorization.*mcp-session-id.*mcp-protocol-version/);
    expect([preflight.status, ...allowed]).toEqual([204, LOCAL.origin, 'GET, POST, DELETE, OPTIONS', named]);
    const { headers } = await send(INITIALIZE, LOCAL);
    expect(headers.get('access-control-allow-origin')).toBe(LOCAL.origin);
    expect(headers.get('access-control-expose-headers')).toContain('mcp-session-id');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const idle = (await fetch(`${server.http}/health`)).headers.get('keep-alive');
    expect([preflight.headers.get('keep-alive'), idle]).toEqual(['timeout=72', 'timeout=72']);
    const told = (await got('OPTIONS', { origin: 'https://evil.example' })).headers.get('access-control-allow-origin');
    expect(told).toBe(null);
  });
});

describe('SPEC-MCP-TOOLS', () => {
  it('are exactly three', async () => {
    const { tools } = await agent.listTools();
    expect(tools.map(({ name, inputSchema }) => [name, inputSchema.required])).toEqual([
      ['fetch', ['path']],
      ['execute_state_change', ['database', 'state_change', 'version', 'command']],
      ['publish_component', ['database', 'component_type', 'name', 'version', 'content_type', 'wasm_base64']],
    ]);
  });

  it('create a database, transact under a condition, and read it back', async () => {
    expect(await post('/api/v1/db', { database_name: 'by-agent' })).toContain('by-agent');
    const event = { id: 'a', specversion: '1.0', type: 'order.placed', source: 'orders', subject: 's1' };
    const body = { events: [{ ...event, data: { n: 1 } }], conditions: [{ max: { revision: 0 } }] };
    expect(await post('/api/v1/db/by-agent', body)).toContain('"revision":1');
    const long = { path: '/db/by-agent/latest', query_params: { other: 'x'.repeat(40_000) } };
    await expect(called('fetch', long)).rejects.toThrow(/status 400: .*other is no query parameter of this path/);
    const q = { selector: { equals: { subject: { hasValue: true, value: 's1' } } } };
    expect(await called('fetch', { path: '/db/by-agent/1/events', query_params: { q } })).toContain('order.placed');
    const again = post('/api/v1/db/by-agent', body);
    await expect(again).rejects.toThrow(/-32603.*Request failed with status 409: .*MaxRevision/s);
  });

  it('publish only as the named version, and run a command', async () => {
    await post('/api/v1/db', { database_name: 'shop' });
    const publish = async (type: string, version: number, text: string): Promise<string> => {
      const made = { database: 'shop', component_type: type, name: 'orders', content_type: 'text/plain' };
      const wasm = Buffer.from(await wat(text)).toString('base64');
      return called('publish_component', { ...made, version, wasm_base64: wasm });
    };
    await expect(publish('state_view', 2, viewText())).rejects.toThrow(/status 409: .*next version is 1/);
    expect(await publish('state_view', 1, viewText())).toContain('"version":1');
    expect(await publish('state_view', 1, viewText())).toContain('"version":1');
    await expect(publish('state_view', 1, viewText({ memory: '2' }))).rejects.toThrow(
      /already, with other content; the next version is 2/,
    );
    expect(await publish('state_change', 1, changeText(NO_EVENT))).toContain('"version":1');
    const command = (name: string, given: object): Promise<string> =>
      called('execute_state_change', { database: 'shop', state_change: name, version: 1, command: given });
    expect(await command('orders', { path: '/orders/a' })).toBe('{"revision":0}\n');
    await expect(command('none', {})).rejects.toThrow(/status 404: .*StateChangeNotFound/s);
    await expect(
      called('execute_state_change', { database: 'shop', state_change: 'orders', version: 1 }),
    ).rejects.toThrow('MCP error -32602: command is required');
    await expect(agent.callTool({ name: 'other' })).rejects.toThrow(/There is no tool other/);
  });
});

describe('SPEC-MCP-RESOURCES', () => {
  it('are four, and a template, and can be read', async () => {
    await post('/api/v1/db', { database_name: 'readable' });
    const uris = (await agent.listResources()).resources.map(({ uri }) => uri);
    const guides = ['roles', 'authoring', 'api'].map((name) => `service://guides/${name}`);
    expect(uris).toEqual(['service://databases', ...guides]);
    const { resourceTemplates } = await agent.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['service://db/{name}']);
    for (const uri of [...uris, 'service://db/readable']) {
      const { contents } = await agent.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: expect.stringMatching(/revision|database|component/) }]);
    }
  });

  it.each([
    ['service://db/none', /Request failed with status 404: .*"none"/s],
    ['service://db/../x', /There is no resource service:\/\/db\/\.\.\/x; there are service:\/\/databases, /],
  ])('that do not exist get -32602 with their uri, in every revision: %s', async (uri, message) => {
    const missing = { code: -32_602, message: expect.stringMatching(message), data: { uri } };
    const asked = { jsonrpc: '2.0', id: 9, method: 'resources/read', params: { uri } };
    expect(repliesOf(await send(asked, await ready()))).toMatchObject([{ id: 9, error: missing }]);
    await expect(agent.readResource({ uri })).rejects.toMatchObject(missing);
    const modern = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await modern.connect(new ModernTransport(new URL(server.mcp)));
    await expect(modern.readResource({ uri })).rejects.toMatchObject(missing);
    await modern.close();
  });
});

it('the examples of the guides are accepted unchanged', async () => {
  await post('/api/v1/db', { database_name: 'guided' });
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/api.md'), 'utf8');
  const [query = '', written = ''] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  expect(await post('/api/v1/db/guided', JSON.parse(written) as object)).toContain('"revision":1');
  const asked = { path: '/db/guided/1/events', query_params: { q: JSON.parse(query) } };
  expect(await called('fetch', asked)).toContain('order.placed');
});

const NOT_OFFERED =
  'prompts/list prompts/get completion/complete logging/setLevel resources/subscribe resources/unsubscribe tasks/list';

interface Reply {
  readonly result?: { readonly capabilities?: object };
  readonly error?: { readonly code: number };
}

function repliesOf({ text }: Sent): readonly Reply[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as Reply);
}

describe('SPEC-MCP-REVISIONS', () => {
  it('offer tools and resources, and know no methods of other features', async () => {
    const [begins] = repliesOf(await send(INITIALIZE));
    expect(begins?.result?.capabilities).toEqual({ tools: {}, resources: {} });
    const headers = await ready();
    for (const method of NOT_OFFERED.split(' ')) {
      const replies = repliesOf(await send({ jsonrpc: '2.0', id: 7, method, params: {} }, headers));
      expect([method, ...replies]).toMatchObject([method, { error: { code: -32_601 } }]);
    }
  });

  it.each(['legacy', 'auto', '2026-07-28'] as const)(
    'answer the client of the second SDK, in the mode %s',
    async (way) => {
      const mode = way === '2026-07-28' ? { pin: way } : way;
      const modern = new ModernClient(INFO, { versionNegotiation: { mode } });
      await modern.connect(new ModernTransport(new URL(server.mcp)));
      const { tools } = await modern.listTools();
      expect(tools).toHaveLength(3);
      const { content } = await modern.callTool({ name: 'fetch', arguments: { path: '/' } });
      expect(content).toMatchObject([{ type: 'text', text: expect.stringContaining('Links:') }]);
      await modern.close();
    },
  );
});
