// Goal: an agent that follows the authoring guide, with the code in it, has components that work. Method: the guide as
// a node serves it; its modules, unchanged, built and published by the commands that it names, and run.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cairnIn } from '../support/author-command.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** What was built of the same source is left as it is, and building takes seconds. */
const KEPT = join(ROOT, 'node_modules/.cache/guide');
/** Two builds by an engine that starts, on a machine with other things to do. */
const BUILD_MS = 300_000;
const DATABASE = 'guided';

let server: TestServer;
const agent = new Client({ name: 'author', version: '1' });
let guide = '';

beforeAll(async () => {
  server = await startTestServer('--guest-executors=1');
  await agent.connect(new StreamableHTTPClientTransport(new URL(server.mcp)));
  await called('fetch', { method: 'POST', path: '/api/v1/db', body: { database_name: DATABASE } });
  const { contents } = await agent.readResource({ uri: 'service://guides/authoring' });
  guide = contents.map((each) => ('text' in each ? each.text : '')).join('');
});

afterAll(async () => {
  await agent.close();
  await server[Symbol.asyncDispose]();
});

async function called(name: string, given: Record<string, unknown>): Promise<string> {
  const { content } = (await agent.callTool({ name, arguments: given })) as {
    readonly content: readonly { readonly text?: string }[];
  };
  return content[0]?.text ?? '';
}

async function cairn(folder: string, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cairnIn(folder, ...args);
  if (code !== 0) throw new Error(`cairn ${args.join(' ')} ends with ${code}: ${err}`);
  return out;
}

/** Blocks of the guide in a language, as they stand. */
function blocks(language: string): readonly string[] {
  const fence = new RegExp(String.raw`^\`\`\`${language}\n([\s\S]*?)^\`\`\`$`, 'gm');
  return [...guide.matchAll(fence)].map(([, code = '']) => code);
}

/** The command that the guide names for a project of the kind, and the file that it says `cairn build` makes. */
function said(kind: string): { readonly name: string; readonly wasm: string } {
  const name = new RegExp(String.raw`\`cairn init ${kind} ([\w-]+)\``).exec(guide)?.[1];
  const wasm = /`cairn build`\s+makes\s+`([\w.-]+)`/.exec(guide)?.[1];
  if (name === undefined || wasm === undefined)
    throw new Error(`The guide makes no ${kind}, or says not what is built`);
  return { name, wasm };
}

/** The module in a new project, built with its types checked, in base64 as the tool takes it. */
async function built(kind: string, module: string): Promise<{ readonly name: string; readonly base64: string }> {
  const { name, wasm } = said(kind);
  const dir = testDir();
  await cairn(dir, 'init', kind, name);
  const folder = join(dir, name);
  writeFileSync(join(folder, 'component.ts'), module);
  const kept = join(KEPT, `${kind}.wasm`);
  if (existsSync(kept)) copyFileSync(kept, join(folder, wasm));
  await cairn(folder, 'build');
  mkdirSync(KEPT, { recursive: true });
  copyFileSync(join(folder, wasm), kept);
  return { name, base64: readFileSync(join(folder, wasm)).toString('base64') };
}

async function published(kind: string, component: { readonly name: string; readonly base64: string }): Promise<void> {
  const { name, base64 } = component;
  const made = { database: DATABASE, component_type: kind, name, version: 1, wasm_base64: base64 };
  const reply = await called('publish_component', { ...made, content_type: 'application/json' });
  expect(JSON.parse(reply)).toMatchObject({ version: 1 });
}

/** As the guide says where a State View is read. */
async function state(name: string): Promise<unknown> {
  const path = /`(\/api\/v1\/db\/\{database\}\/latest\/state-views\/\{name\}\/v1)`/.exec(guide)?.[1] ?? '';
  return JSON.parse(await called('fetch', { path: path.replace('{database}', DATABASE).replace('{name}', name) }));
}

it('the code of the authoring guide is a State View and a State Change, and no other code', () => {
  expect(guide.match(/^```\w*$/gm)?.filter((fence) => fence !== '```')).toEqual(['```ts', '```ts']);
  expect(blocks('ts').map((code) => /= (\w+)/.exec(code)?.[1])).toEqual(['defineStateView', 'defineStateChange']);
});

it('the code of the authoring guide is built and published by its own words, folds and decides', {
  timeout: BUILD_MS,
}, async () => {
  const [viewCode = '', changeCode = ''] = blocks('ts');
  const view = await built('state-view', viewCode);
  const change = await built('state-change', changeCode);
  await published('state_view', view);
  await published('state_change', change);
  expect(await state(view.name)).toEqual({});
  // What it commits itself, once: the condition holds of an empty database alone.
  const note = { id: 'n', specversion: '1.0', type: 'note.taken', source: 'notes', data: { text: 'we begin' } };
  const noted = { events: [note], conditions: [{ max: { revision: 0 } }] };
  const transact = { method: 'POST', path: `/api/v1/db/${DATABASE}`, body: noted };
  expect(await called('fetch', transact)).toContain('"revision":1');
  await expect(called('fetch', transact)).rejects.toThrow(/status 409: .*MaxRevision/s);
  const place = (order: string, body?: object): Promise<string> => {
    const command = { method: 'POST', path: `/orders/${order}`, ...(body && { body }) };
    const given = { database: DATABASE, state_change: change.name, version: 1, command };
    return called('execute_state_change', given);
  };
  expect(JSON.parse(await place('o-1', { items: 2 }))).toMatchObject({
    transaction: { revision: 2, event_count: 1 },
  });
  await expect(place('o-1', { items: 3 })).rejects.toThrow(/status 400: .*placed already/s);
  expect(JSON.parse(await place('o%202', { items: 1 }))).toMatchObject({
    transaction: { revision: 3, event_count: 1 },
  });
  expect(await state(view.name)).toEqual({ 'o-1': 1, 'o 2': 1 });
  const events = await called('fetch', { path: `/db/${DATABASE}/3/events` });
  expect(events).toMatch(/note\.taken[\s\S]*order\.placed[\s\S]*order\.placed/);
});
