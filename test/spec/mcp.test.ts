// Goal: agents work with the database over MCP as the contract says: the handshake, its session and its errors, three
// tools, four resources and a template; what they may reach and hold is bounded (TC1, TC2, TC3). Method: a real node;
// the protocol's own clients of both releases, and bare requests where a client would not do what is wrong.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange, HALF_CLOSE, parseReplies } from '../support/raw-http.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { builtComponent } from '../support/wasm/built.ts';

const BOTH = 'application/json, text/event-stream';
/** Two components of 12 MB are built, published and started, on a machine with other things to do. */
const BUILD_MS = 300_000;
const INFO = { name: 'test', version: '1' };
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer('--guest-executors=1');
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

interface Sent {
  readonly status: number;
  readonly session: string | null;
  readonly text: string;
}

async function send(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Sent> {
  const response = await fetch(server.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: BOTH, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, session: response.headers.get('mcp-session-id'), text: await response.text() };
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: INFO },
};
const READY = { jsonrpc: '2.0', method: 'notifications/initialized' };
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

async function begun(headers: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, string>>> {
  const { session } = await send(INITIALIZE, headers);
  return { 'mcp-session-id': session ?? '' };
}

async function client(): Promise<Client & AsyncDisposable> {
  const made = new Client(INFO);
  await made.connect(new StreamableHTTPClientTransport(new URL(server.mcp)));
  return Object.assign(made, { [Symbol.asyncDispose]: () => made.close() });
}

interface Answered {
  readonly content: readonly { readonly text?: string }[];
}

async function called(by: Client, name: string, given: Record<string, unknown>): Promise<string> {
  const { content } = (await by.callTool({ name, arguments: given })) as Answered;
  return content[0]?.text ?? '';
}

describe('SPEC-MCP-HANDSHAKE', () => {
  it('answers initialize with a session, as lines of id and data', async () => {
    const { status, session, text } = await send(INITIALIZE);
    expect([status, session]).toEqual([200, expect.stringMatching(/^1\.[0-9a-f-]{36}$/)]);
    expect(text).toMatch(/^id: \d+$/m);
    const data = /^data: (.+)$/m.exec(text)?.[1] ?? '';
    expect(JSON.parse(data)).toMatchObject({
      id: 1,
      result: { protocolVersion: '2025-03-26', serverInfo: { name: 'cairn' } },
    });
  });

  it('waits for notifications/initialized, which may come late, and refuses what comes without it', async () => {
    const headers = await begun();
    const early = await send(LIST, headers);
    expect(early.status).toBe(400);
    expect(early.text).toContain('failed to create service: expect initialized notification');
    expect((await send({ jsonrpc: '2.0', id: 3, method: 'ping' }, headers)).status).toBe(200);
    const [overtaking, notified] = await Promise.all([send(LIST, headers), send(READY, headers)]);
    expect([overtaking.status, notified.status]).toEqual([200, 202]);
    expect(overtaking.text).toContain('execute_state_change');
  });

  it.each([
    ['application/json', 406],
    ['text/event-stream', 406],
    ['*/*', 406],
  ])('needs both types in Accept, and refuses %s', async (accept, status) => {
    expect((await send(INITIALIZE, { accept })).status).toBe(status);
  });

  it.each<[string, () => Promise<Sent>, number, RegExp]>([
    ['no session', () => send(LIST), 400, /mcp-session-id is required/],
    ['a session that never was', () => send(LIST, { 'mcp-session-id': 'x' }), 404, /\\"x\\" has ended, or never was/],
    ['what is no JSON', () => send('{'), 400, /-32700/],
    ['what is nested without end', () => send('['.repeat(100_000) + ']'.repeat(100_000)), 400, /nested too deep/],
    ['more values than a body has', () => send(`[${'{},'.repeat(2 ** 16)}{}]`), 413, /at most 131072 values/],
    ['what is no message', () => send('5'), 400, /-32600/],
    ['what is no UTF-8 JSON', () => send('"\ud800"'), 400, /error/],
    ['another content type', () => send(LIST, { 'content-type': 'text/plain' }), 415, /application\/json/],
    ['a page of a stranger', () => send(INITIALIZE, { origin: 'https://evil.example' }), 403, /rigin/],
  ])('refuses %s', async (_what, ask, status, message) => {
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)]);
  });

  it('refuses a session that never was before it has the body', async () => {
    const head = `POST / HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: x\r\ncontent-type: application/json\r\n`;
    const [refused, behind] = parseReplies(
      await exchange(server.mcp, `${head}content-length: 20000000\r\n\r\n`, 'x'.repeat(20_000_000), HALF_CLOSE),
    );
    expect([refused?.status, refused?.body, behind]).toEqual([404, expect.stringMatching(/never was/), undefined]);
  });

  it('takes many values inside of texts for none', async () => {
    const text = '[{\\",'.repeat(200_000);
    expect((await send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":"${text}"}}}`)).status).toBe(
      400,
    );
    const headers = await begun();
    const ping = await send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":"${text}"}}}`, headers);
    expect(ping.status).toBe(200);
  });

  it('asks for the body of whoever waits to be asked', async () => {
    const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n`;
    const expecting = `${head}expect: 100-continue\r\ncontent-length: 1\r\n\r\n`;
    const replies = parseReplies(await exchange(server.mcp, expecting, '{'));
    expect(replies.map(({ status }) => status)).toEqual([100, 400]);
  });

  it.each(['//[', '//', 'http://a:99999/'])('has nothing at %s', async (target) => {
    const head = `POST ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
    const [reply] = parseReplies(await exchange(server.mcp, head));
    expect(reply?.status).toBe(404);
  });

  it('has one path and three methods', async () => {
    expect((await fetch(`${server.mcp}/other`, { method: 'POST' })).status).toBe(404);
    const put = await fetch(server.mcp, { method: 'PUT' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
    expect((await fetch(server.mcp, { headers: { accept: 'text/event-stream' } })).status).toBe(400);
  });

  it('ends a session that is deleted', async () => {
    const headers = await begun();
    await send(READY, headers);
    expect((await fetch(server.mcp, { method: 'DELETE', headers })).status).toBe(200);
    expect((await send(LIST, headers)).status).toBe(404);
  });

  it('is of whoever began it', async () => {
    const headers = await begun({ authorization: 'Bearer one' });
    expect((await send(READY, { ...headers, authorization: 'Bearer two' })).status).toBe(403);
    expect((await send(READY, { ...headers, authorization: 'Bearer one' })).status).toBe(202);
    expect((await send(READY, headers)).status).toBe(202);
  });
});

describe('SPEC-MCP-TOOLS', () => {
  it('are exactly three', async () => {
    await using agent = await client();
    const { tools } = await agent.listTools();
    expect(tools.map(({ name, inputSchema }) => [name, inputSchema.required])).toEqual([
      ['fetch', ['path']],
      ['execute_state_change', ['database', 'state_change', 'version', 'command']],
      ['publish_component', ['database', 'component_type', 'name', 'version', 'content_type', 'wasm_base64']],
    ]);
  });

  it('create a database, transact under a condition, and read it back', async () => {
    await using agent = await client();
    const create = { method: 'POST', path: '/api/v1/db', body: { database_name: 'by-agent' } };
    expect(await called(agent, 'fetch', create)).toContain('by-agent');
    const event = {
      id: 'a',
      specversion: '1.0',
      type: 'order.placed',
      source: 'orders',
      subject: 's1',
      data: { n: 1 },
    };
    const body = { events: [event], conditions: [{ max: { revision: 0 } }] };
    const transact = { method: 'POST', path: '/api/v1/db/by-agent', body };
    expect(await called(agent, 'fetch', transact)).toContain('"revision":1');
    const page = await called(agent, 'fetch', { path: '/db/by-agent/latest' });
    expect(page).toMatch(/\n---\nLinks:\n/);
    const long = called(agent, 'fetch', { path: '/db/by-agent/latest', query_params: { other: 'x'.repeat(40_000) } });
    expect(await long).toContain('by-agent');
    const q = { selector: { equals: { subject: { hasValue: true, value: 's1' } } } };
    expect(await called(agent, 'fetch', { path: '/db/by-agent/1/events', query_params: { q } })).toContain(
      'order.placed',
    );
    await expect(called(agent, 'fetch', transact)).rejects.toThrow(
      /-32603.*Request failed with status 409: .*MaxRevision/s,
    );
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{}, /path is required: a text/],
    [{ path: 'http://127.0.0.1:1/' }, /path must begin with one slash/],
    [{ path: '//example.com/db' }, /path must begin with one slash/],
    [{ path: '/db/../../etc' }, /path must not have \. or \.\./],
    [{ path: '/db/%2e%2e/x' }, /path must not have \. or \.\./],
    [{ path: '/metrics' }, /path must be \/, or begin with/],
    [{ path: '/db/a\\b' }, /without spaces, backslashes/],
    [{ path: '/db/a b' }, /without spaces, backslashes/],
    [{ path: '/', method: 'DELETE' }, /method must be one of GET, POST; found "DELETE"/],
    [{ path: '/', method: 'GET', body: {} }, /body is for POST/],
    [{ path: '/', other: 1 }, /there is no argument "other"/],
    [{ path: '/', query_params: { a: {} } }, /query_params\.a must be a text/],
  ])('fetch refuses %j', async (given, message) => {
    await using agent = await client();
    await expect(called(agent, 'fetch', given)).rejects.toThrow(message);
  });

  it('fetch refuses a body that is nested without end', async () => {
    const headers = await begun();
    await send(READY, headers);
    const given = `{"path":"/","method":"POST","body":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":${given}}}`;
    const { status, text } = await send(call, headers);
    expect([status, text]).toEqual([200, expect.stringMatching(/-32602.*The arguments are nested too deep/)]);
  });

  it('publish_component and execute_state_change say what is wrong', async () => {
    await using agent = await client();
    await called(agent, 'fetch', { method: 'POST', path: '/api/v1/db', body: { database_name: 'shop' } });
    const component = { database: 'shop', component_type: 'state_view', name: 'orders', content_type: 'text/plain' };
    const publish = (more: object): Promise<string> =>
      called(agent, 'publish_component', { ...component, version: 1, wasm_base64: 'AGFzbQ==', ...more });
    await expect(publish({ version: 3 })).rejects.toThrow('version must be 1, for there is none yet; found 3');
    await expect(publish({ wasm_base64: 'x' })).rejects.toThrow(/wasm_base64 must be base64/);
    await expect(publish({})).rejects.toThrow(/Request failed with status 400: .*InvalidComponent/s);
    await expect(publish({ component_type: 'state_change', events: [] })).rejects.toThrow(/events is for a state_view/);
    const command = { database: 'shop', state_change: 'none', version: 1, command: {} };
    await expect(called(agent, 'execute_state_change', command)).rejects.toThrow(/status 404: .*StateChangeNotFound/s);
    await expect(agent.callTool({ name: 'other' })).rejects.toThrow(/There is no tool other/);
  });
});

describe('an agent', () => {
  it(
    'that was told nothing but the URL builds a bank, works with it and reads it back',
    async () => {
      await using agent = await client();
      const read = async (uri: string): Promise<string> => {
        const { contents } = await agent.readResource({ uri });
        return contents.map((each) => ('text' in each ? each.text : '')).join('');
      };
      // Each step uses what the one before it has said.
      expect(await read('service://guides/roles')).toContain('service://guides/authoring');
      expect(await read('service://guides/authoring')).toContain('publish_component');
      await called(agent, 'fetch', { method: 'POST', path: '/api/v1/db', body: { database_name: 'bank' } });
      const publish = async (type: string, name: string): Promise<string> => {
        const wasm = Buffer.from(await builtComponent(`examples/bank/${name}.ts`)).toString('base64');
        const made = { database: 'bank', component_type: type, name, version: 1, wasm_base64: wasm };
        return called(agent, 'publish_component', { ...made, content_type: 'application/json' });
      };
      expect(await publish('state_view', 'balances')).toContain('"version":1');
      expect(await publish('state_change', 'accounts')).toContain('"version":1');
      expect(await publish('state_change', 'accounts')).toContain('"version":1');
      const named = { database: 'bank', state_change: 'accounts', version: 1 };
      const command = (path: string, body: object): Promise<string> =>
        called(agent, 'execute_state_change', {
          ...named,
          command: { method: 'POST', path, body },
        });
      expect(await command('/accounts/a', { owner: 'Ada' })).toContain('"event_count":1');
      expect(await command('/accounts/a/deposits', { cents: 70 })).toContain('"event_count":1');
      const unnamed = { path: '/accounts/b', body: { owner: 'Bo' } };
      const opened = await called(agent, 'execute_state_change', { ...named, command: unnamed });
      expect(opened).toContain('"event_count":1');
      await expect(command('/accounts/a/withdrawals', { cents: 71 })).rejects.toThrow(
        /Request failed with status 4\d\d/,
      );
      const page = await called(agent, 'fetch', { path: '/db/bank/latest' });
      expect(page).toContain('/state-views');
      const rendered = { path: '/api/v1/db/bank/latest/state-views/balances/v1' };
      expect(JSON.parse(await called(agent, 'fetch', rendered))).toMatchObject([
        { owner: 'Ada', cents: 70 },
        { owner: 'Bo', cents: 0 },
      ]);
    },
    BUILD_MS,
  );
});

describe('SPEC-MCP-RESOURCES', () => {
  it('are four, and a template', async () => {
    await using agent = await client();
    const { resources } = await agent.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'service://databases',
      'service://guides/roles',
      'service://guides/authoring',
      'service://guides/api',
    ]);
    const { resourceTemplates } = await agent.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['service://db/{name}']);
  });

  it('can be read, each of them', async () => {
    await using agent = await client();
    await called(agent, 'fetch', { method: 'POST', path: '/api/v1/db', body: { database_name: 'readable' } });
    const { resources } = await agent.listResources();
    for (const uri of [...resources.map((each) => each.uri), 'service://db/readable']) {
      const { contents } = await agent.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: expect.stringMatching(/\S{3}/) }]);
    }
    const { contents } = await agent.readResource({ uri: 'service://db/readable' });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining('A revision is the number of a transaction') });
  });

  it.each([
    ['service://db/none', /Request failed with status 404: .*"none"/s],
    ['service://db/../x', /There is no resource service:\/\/db\/\.\.\/x; there are service:\/\/databases, /],
    ['service://other', /There is no resource service:\/\/other; there are service:\/\/databases, /],
  ])('that there are not are -32602 with their uri, in every revision: %s', async (uri, message) => {
    const missing = { code: -32_602, message: expect.stringMatching(message), data: { uri } };
    const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'];
    for (const protocolVersion of revisions) {
      const { session } = await send({ ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } });
      const headers = { 'mcp-session-id': session ?? '', 'mcp-protocol-version': protocolVersion };
      await send(READY, headers);
      const asked = { jsonrpc: '2.0', id: 9, method: 'resources/read', params: { uri } };
      expect(repliesOf(await send(asked, headers))).toMatchObject([{ id: 9, error: missing }]);
    }
    await using agent = await client();
    await expect(agent.readResource({ uri })).rejects.toMatchObject(missing);
    const modern = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await modern.connect(new ModernTransport(new URL(server.mcp)));
    await expect(modern.readResource({ uri })).rejects.toMatchObject(missing);
    await modern.close();
  });
});

describe('the guides', () => {
  it('have examples that are taken as they stand', async () => {
    await using agent = await client();
    await called(agent, 'fetch', { method: 'POST', path: '/api/v1/db', body: { database_name: 'guided' } });
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/api.md'), 'utf8');
    const [query = '', written = ''] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    const transact = { method: 'POST', path: '/api/v1/db/guided', body: JSON.parse(written) };
    expect(await called(agent, 'fetch', transact)).toContain('"revision":1');
    const asked = { path: '/db/guided/1/events', query_params: { q: JSON.parse(query) } };
    expect(await called(agent, 'fetch', asked)).toContain('order.placed');
  });
});

/** Of the protocol's optional parts, and for each a request that would be right. */
const NOT_OFFERED: Readonly<Record<string, object>> = {
  'prompts/list': {},
  'prompts/get': { name: 'any' },
  'completion/complete': {
    ref: { type: 'ref/resource', uri: 'service://db/{name}' },
    argument: { name: 'name', value: '' },
  },
  'logging/setLevel': { level: 'debug' },
  'resources/subscribe': { uri: 'service://databases' },
  'resources/unsubscribe': { uri: 'service://databases' },
  'tasks/list': {},
};

interface Reply {
  readonly result?: { readonly capabilities?: object; readonly content?: readonly object[] };
  readonly error?: { readonly code: number };
}

/** The messages of an answer, in their order. */
function repliesOf({ text }: Sent): readonly Reply[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as Reply);
}

describe('SPEC-MCP-REVISIONS', () => {
  it('promise tools and resources, and know no method of what is not offered', async () => {
    const [begins] = repliesOf(await send(INITIALIZE));
    expect(begins?.result?.capabilities).toEqual({ tools: {}, resources: {} });
    const headers = await begun();
    await send(READY, headers);
    const codes: [string, ...unknown[]][] = [];
    for (const [method, params] of Object.entries(NOT_OFFERED)) {
      const replies = repliesOf(await send({ jsonrpc: '2.0', id: 7, method, params }, headers));
      codes.push([method, ...replies.map(({ error }) => error?.code)]);
    }
    expect(codes).toEqual(Object.keys(NOT_OFFERED).map((method) => [method, -32_601]));
  });

  it('have a tool answer with text alone, and ask nothing of its client, whatever that could do', async () => {
    const able = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
    const { session } = await send({ ...INITIALIZE, params: { ...INITIALIZE.params, capabilities: able } });
    const headers = { 'mcp-session-id': session ?? '' };
    await send(READY, headers);
    const params = { name: 'fetch', arguments: { path: '/' }, _meta: { progressToken: 'p' } };
    const replies = repliesOf(await send({ jsonrpc: '2.0', id: 8, method: 'tools/call', params }, headers));
    expect(replies).toMatchObject([{ id: 8, result: { content: [{ type: 'text' }] } }]);
  });

  it.each(['legacy', 'auto', '2026-07-28'] as const)(
    'answer the client of the second SDK, in the way %s',
    async (way) => {
      const mode = way === '2026-07-28' ? { pin: way } : way;
      const agent = new ModernClient(INFO, { versionNegotiation: { mode } });
      await agent.connect(new ModernTransport(new URL(server.mcp)));
      const { tools } = await agent.listTools();
      expect(tools).toHaveLength(3);
      const { content } = await agent.callTool({ name: 'fetch', arguments: { path: '/' } });
      expect(content).toMatchObject([{ type: 'text', text: expect.stringContaining('Links:') }]);
      await agent.close();
    },
  );
});
