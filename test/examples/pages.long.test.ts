// Goal: what the pages of the examples tell a user to type happens as they say. Method: the commands of the pages
// themselves, in a shell, with the address of a real node. What they build was built before, because it takes seconds:
// the command is tested in test/sdk.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ExampleNode } from '../support/example-node.ts';
import { HttpClient } from '../support/http-client.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testDir } from '../support/test-scope.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MODULES = [
  'examples/bank/balances.ts',
  'examples/bank/accounts.ts',
  'examples/bank/statement.ts',
  'examples/courses/subscriptions.ts',
  'examples/inventory/stock.ts',
  'examples/git-history/files.ts',
  'examples/git-history/listing.ts',
];

let node: ExampleNode;
/** A component for each module, under its path with `_` for `/`. */
const kept = tempDir();
beforeAll(async () => {
  node = await ExampleNode.start('pages', '--guest-executors=1');
  for (const module of MODULES) {
    writeFileSync(join(kept.path, module.replaceAll('/', '_')), await builtComponent(module));
  }
}, BUILD_MS);
afterAll(async () => {
  kept[Symbol.dispose]();
  await node[Symbol.asyncDispose]();
});

/** All blocks of commands of a page, or of one section. */
function blocksOf(page: string, heading = ''): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const section = heading === '' ? text : (text.split(`## ${heading}\n`)[1] ?? '').split('\n## ')[0];
  return [...(section ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) => commands);
}

/** The last block of commands. */
function commandsOf(page: string, heading = ''): string {
  const commands = blocksOf(page, heading).at(-1);
  if (commands === undefined) throw new Error(`${page} shows no commands in the section "${heading}"`);
  return commands;
}

/** What the commands print, line by line, with each answer on one of its own. */
async function typed(commands: string): Promise<readonly string[]> {
  const script = [
    // Of `npm start --silent -- build MODULE --out FILE`, and of nothing else.
    `npm() { [ "$1 $2 $3 $4 $6" = "start --silent -- build --out" ] && cp "${kept.path}/\${5//\\//_}" "$7"; }`,
    'curl=$(type -P curl)',
    'curl() { "$curl" -sSw "\\n" "$@"; }',
    `base=${node.server.http}`,
    commands.replaceAll('http://127.0.0.1:3000', node.server.http),
  ].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: testDir() });
  return stdout.split(/\r?\n/).filter((line) => line !== '');
}

const answers = async (commands: string): Promise<readonly unknown[]> =>
  (await typed(commands)).map((line): unknown => JSON.parse(line));

it('the commands of README.md are answered as it says', { timeout: 120_000 }, async () => {
  expect(await answers(commandsOf('README.md', 'Try it'))).toMatchObject([
    { database: 'shop' },
    { transaction: { revision: 1 } },
    { error: { code: 'FAILED_PRECONDITION', details: { constraints: [{ found: 1 }] } } },
    { events: [{ id: '1', revision: 1 }] },
  ]);
});

it('the commands of docs/concepts.md are answered as it says', { timeout: 120_000 }, async () => {
  const account = { account: 'a', owner: 'ada' };
  const lines = await typed(blocksOf('docs/concepts.md').join(''));
  expect(lines.map((line): unknown => (/^[{[]/.test(line) ? JSON.parse(line) : line))).toMatchObject([
    { database: 'bank' },
    { transaction: { revision: 1 } },
    { transaction: { revision: 2 } },
    { revision: 1, event_count: 1 },
    { revision: 2 },
    { transaction: { revision: 3 } },
    { events: [{ id: '1' }] },
    { events: [{ id: '1' }, { id: '3' }] },
    { error: { details: { constraints: [{ found: 3 }] } } },
    { name: 'balances', version: 1 },
    [{ ...account, cents: 70 }],
    { name: 'accounts', version: 1 },
    { revision: 4 },
    { name: 'statement', version: 1 },
    { name: 'balances', version: 2, presenter: { name: 'statement' } },
    'account,owner,cents',
    'a,ada,55',
    { revision: 4 },
    { error: { details: { reason: 'RevisionNotFound' } } },
  ]);
});

it('the page of the courses fills one', { timeout: 120_000 }, async () => {
  expect(await answers(commandsOf('examples/courses/README.md'))).toMatchObject([
    { database: 'school' },
    { kind: 'state-change', name: 'subscriptions', version: 1 },
    { revision: 1 },
    { revision: 2 },
    { error: { details: { reason: 'course-full' } } },
  ]);
});

it('the page of the inventory shows a shipment that is recorded late', { timeout: 120_000 }, async () => {
  const counted = { item: 'lamp', onHand: 7, countedAt: '2026-03-05T18:00:00Z' };
  expect(await answers(commandsOf('examples/inventory/README.md'))).toEqual([
    expect.objectContaining({ database: 'warehouse' }),
    expect.objectContaining({ kind: 'state-view', name: 'stock', version: 1 }),
    expect.objectContaining({ revision: 1 }),
    expect.objectContaining({ revision: 2 }),
    [{ ...counted, lost: 3 }],
    expect.objectContaining({ revision: 3 }),
    [{ ...counted, lost: 0 }],
    [{ ...counted, lost: 3 }],
    [{ item: 'lamp', onHand: 7, lost: 0 }],
  ]);
});

it('the page of the git history lists files as CSV', { timeout: 120_000 }, async () => {
  const api = new HttpClient(node.server.http);
  await api.create('imported');
  const data = { path: 'README.md', mode: '100644', blob: 'b', commit: 'c' };
  const time = '2026-03-01T00:00:00Z';
  await api.commit('imported', { id: 'f', specversion: '1.0', source: '/g', type: 'git.file.added', time, data });
  const page = commandsOf('examples/git-history/README.md', 'The files as a page and as CSV');
  const [presenter = '', view = '', ...csv] = await typed(page.replace('db=…', 'db=imported'));
  expect([JSON.parse(presenter), JSON.parse(view)]).toMatchObject([
    { kind: 'presenter', name: 'listing', content_types: [{ content_type: 'text/html; charset=utf-8' }, {}] },
    { kind: 'state-view', name: 'files', presenter: { name: 'listing' } },
  ]);
  expect(csv).toEqual(['path,mode,blob,commit,authored,revision', `./README.md,100644,b,c,${time},1`]);
});
