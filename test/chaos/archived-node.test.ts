// Goal: a running node archives what it commits, and continues after it was killed; the archive can be restored
// although the node is lost. Method: a real process that is killed, and the command of an operator.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { archiveAt } from '../../src/main/archive/archive-place.ts';
import { catalogsIn } from '../../src/main/archive/archived-catalogs.ts';
import { factsAt, type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { AS_FIRST, guardedSettings, issueKey } from '../support/guarded-node.ts';
import { HttpClient } from '../support/http-client.ts';
import { runProduct, startOwnNode } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

const POLL = { timeout: 50_000, interval: 100 };

/** Number of archived catalogs. */
function catalogsOf(dir: string): number {
  const folder = join(dir, 'archive/catalogs');
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  return entries.filter((each) => each.isFile() && !each.name.startsWith('.')).length;
}

it('a node that is killed is restored from its archive, with everything that was archived', async () => {
  const dir = testDir();
  mkdirSync(join(dir, 'archive'));
  const archive = `file://${dir}/archive`;
  const start = (): Promise<Member> => startMember(dir, 'old', undefined, [`--archive=${archive}`]);

  const old = await start();
  await old.client.send('createDatabase', { databaseName: 'shop' });
  await old.client.send('createDatabase', { databaseName: 'empty' });
  for (const id of ['a', 'b']) await writeAt(old, 'shop', id, POLL);
  await expect.poll(() => archived(dir, 'shop'), POLL).toBe(2);
  await expect.poll(() => archived(dir, 'empty'), POLL).toBe(0);
  await expect.poll(() => metricsOf(old), POLL).toMatch(/^cairn_archive_last_success_\w+{database="shop"} 1\d{9}/m);
  expect(await metricsOf(old)).toMatch(/^cairn_archive_lag_bytes{database="empty"} 0$/m);
  expect(await metricsOf(old)).toMatch(/^cairn_archive_bytes_total [1-9]/m);
  old.process.kill('SIGKILL');
  await old.process.ended;

  const again = await start();
  await writeAt(again, 'shop', 'c', POLL);
  await expect.poll(() => archived(dir, 'shop'), POLL).toBe(3);
  await expect.poll(() => catalogsOf(dir), POLL).toBeGreaterThan(0);
  const facts = await factsAt(again, 'shop', 3);
  again.process.kill('SIGKILL');
  await again.process.ended;
  expect(again.process.log()).not.toContain('archive-');

  const { stdout, stderr } = runProduct(['restore', `--from=${archive}`, `--data-dir=${join(dir, 'new')}`]);
  expect(stderr).toBe('');
  expect(stdout).toMatch(`revision 3 of ${facts?.databaseId}, chain hash ${facts?.chainHash}\n`);
  const restored = await startMember(dir, 'new');
  expect((await factsAt(restored, 'shop', 3))?.chainHash).toBe(facts?.chainHash);
});

it('API keys of a node that is lost are valid on the restored one', async () => {
  const dir = testDir();
  const archive = join(dir, 'archive');
  mkdirSync(archive);
  const guarded = guardedSettings(dir);
  const old = await startOwnNode(join(dir, 'old'), [`--archive=file://${archive}`, ...guarded]);
  const api = new HttpClient(old.http);
  const { key, headers } = await issueKey(api, 'writer');
  expect((await api.post('/api/v1/db', { database_name: 'shop' }, AS_FIRST)).status).toBe(201);
  const event = { specversion: '1.0', id: 'a', source: '/shop/orders', type: 'order.placed' };
  expect((await api.post('/databases/shop/events', { events: [event] }, headers)).status).toBe(200);
  await expect.poll(() => archived(dir, 'shop'), POLL).toBe(1);
  const catalogs = async (): Promise<object[]> => [...(await catalogsIn(await archiveAt(archive))).values()];
  const whole = { databases: [{ name: 'shop' }], keys: [{ name: 'of a test' }] };
  await expect.poll(catalogs, POLL).toMatchObject([whole]);
  old.kill('SIGKILL');
  await old.ended;

  const { stdout, stderr } = runProduct(['restore', `--from=${archive}`, `--data-dir=${join(dir, 'new')}`]);
  expect([stdout, stderr]).toEqual([expect.stringContaining('\n1 API keys and tokens\n'), '']);
  const restored = new HttpClient((await startOwnNode(join(dir, 'new'), guarded)).http);
  const statusFor = async (given: string): Promise<number> =>
    (await restored.send('/db/shop/1/events', { headers: { 'x-api-key': given } })).status;
  await expect.poll(() => statusFor(key), POLL).toBe(200);
  expect(await statusFor(`${key}x`)).toBe(401);
});

interface Manifest {
  readonly database: { readonly name: string };
  readonly tails: readonly { readonly revision: number }[];
}

/** Last revision in the archive of a database, without sealed segments; undefined when it has none. */
function archived(dir: string, name: string): number | undefined {
  const databases = join(dir, 'archive', 'databases');
  const ids = existsSync(databases) ? readdirSync(databases) : [];
  const newest = ids.map((id): Manifest => {
    const manifests = join(databases, id, 'manifests');
    const [last = ''] = readdirSync(manifests).toSorted().toReversed();
    const [text = ''] = readFileSync(join(manifests, last), 'utf8').split('\n');
    const manifest: Manifest = JSON.parse(text);
    return manifest;
  });
  const found = newest.find(({ database }) => database.name === name);
  return found && (found.tails.at(-1)?.revision ?? 0);
}

async function metricsOf({ process }: Member): Promise<string> {
  return (await fetch(process.metrics)).text();
}
