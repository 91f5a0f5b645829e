// Goal: `cairn init`, `build`, `test` and `publish` make a component and a version of it in a database, and each prints
// what is wrong. Method: the command as a user runs it, in new folders, and a real node.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cairnIn, type Ended } from '../support/author-command.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const KEPT = join(ROOT, 'node_modules/.cache/projects');
/** Built by an engine that starts, on a machine with other things to do. */
const BUILD_MS = 300_000;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer('--guest-executors=1');
  await fetch(`${server.http}/api/v1/databases/shop`, { method: 'POST' });
});

afterAll(() => server[Symbol.asyncDispose]());

/** A project with what was built of it before, by this test: building takes seconds. */
async function project(kind: string): Promise<string> {
  const dir = testDir();
  const name = `my-${kind}`;
  expect(await cairnIn(dir, 'init', kind, name)).toMatchObject({ code: 0, err: '' });
  const kept = join(KEPT, `${kind}.wasm`);
  if (existsSync(kept)) cpSync(kept, join(dir, name, 'component.wasm'));
  return join(dir, name);
}

function keep(folder: string, kind: string): void {
  mkdirSync(KEPT, { recursive: true });
  cpSync(join(folder, 'component.wasm'), join(KEPT, `${kind}.wasm`));
}

const KINDS = [
  ['state-view', 'state-views'],
  ['state-change', 'state-changes'],
  ['presenter', 'presenters'],
] as const;

describe.each(KINDS)('a new %s', (kind, route) => {
  it('is built, tested and published as it is, and the same again is the same', { timeout: BUILD_MS }, async () => {
    const folder = await project(kind);
    const tested = await cairnIn(folder, 'test');
    expect([tested.code, tested.out]).toEqual([0, expect.stringMatching(/what was built[\s\S]*fail 0\n/)]);
    keep(folder, kind);
    const bytes = readFileSync(join(folder, 'component.wasm'));
    const again = await cairnIn(folder, 'build');
    expect([again.code, again.out]).toEqual([0, `component.wasm: ${kind}, ${bytes.length} bytes, unchanged\n`]);
    const page = `${server.http}/db/shop/${route}/my-${kind}/v1\n`;
    for (let time = 0; time < 2; time++) {
      const published = await cairnIn(folder, 'publish', '--database', 'shop', '--url', server.http);
      expect([published.code, published.out.endsWith(page), published.err]).toEqual([0, true, '']);
    }
    const { status } = await fetch(page.trim());
    expect(status).toBe(200);
  });
});

it('cairn test prints which name has no such type', { timeout: BUILD_MS }, async () => {
  const folder = await project('state-view');
  const module = join(folder, 'component.ts');
  writeFileSync(module, readFileSync(module, 'utf8').replace('event.data.title', 'event.data.titel'));
  const typed = await cairnIn(folder, 'test');
  expect([typed.code, typed.err]).toEqual([1, expect.stringMatching(/component\.ts.*titel[\s\S]*faults of types/)]);
});

it('cairn publish prints what the node refuses', { timeout: BUILD_MS }, async () => {
  const folder = testDir();
  writeFileSync(join(folder, 'c.wasm'), 'no component');
  writeFileSync(join(folder, 'definition.json'), JSON.stringify({ state_view_name: 'v', content_type: 'no' }));
  const publish = (...args: readonly string[]): Promise<Ended> => cairnIn(folder, 'publish', 'c.wasm', ...args);
  const to = ['--database', 'shop', '--url', server.http];
  const malformed = await publish(...to);
  expect(malformed.code).toBe(1);
  expect(malformed.err).toMatch(/invalid_argument: .*\n {2}metadata\.\w+: .*\n {2}metadata\.\w+: /);
  const definition = { state_view_name: 'v', content_type: 'a/b', query_temporality: 'revision', events: ['e'] };
  writeFileSync(join(folder, 'definition.json'), JSON.stringify(definition));
  expect((await publish(...to)).err).toMatch(/^cairn publish: InvalidComponent: .*/);
  const unknown = await publish('--database', 'none', '--url', server.http);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('DatabaseNotFound: ')]);
  writeFileSync(join(folder, 'definition.json'), '{');
  expect((await publish(...to)).err).toContain('is not JSON');
  writeFileSync(join(folder, 'definition.json'), '{}');
  expect((await publish(...to)).err).toContain('names nothing; give it state_view_name');
});
