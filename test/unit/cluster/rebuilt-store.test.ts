// Goal: a node whose LevelDB is damaged, as a whole or in rows of one database, loses no acknowledged write: it
// rebuilds the rows after the same start or the next one, and serves what is whole (W18, C7, C43). Method: a real
// directory of a node that is alone, with each damage.
import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { type Node, startNode } from '#cluster';
import { RowKeys } from '#database';
import { createMetrics, type Logger, silentLogger } from '#observability';
import { membershipOf } from '#raft';
import { openLevelStore } from '#storage';
import { noteDamage } from '../../../src/cluster/store/damage-note.ts';
import { CORE_WORKER } from '../../../src/main/node/open-node.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import { createEntry, groupOf, registerEntry, StoppedDirectory } from '../../support/cluster/stopped-node.ts';
import { flipAt, LEVEL_DAMAGES } from '../../support/level-damages.ts';
import { testDir } from '../../support/test-scope.ts';

const TEXTS = ['t1', 't2', 't3', 't4', 't5', 't6', 't7'];
const [SHOP, QUIET] = [groupOf(1), groupOf(2)];
const FOUNDERS = [replicaOf(toNodeId(3))];
const logged: string[] = [];
const logger: Logger = { ...silentLogger, error: (event) => void logged.push(event) };
let directory = '';

beforeEach(async () => {
  logged.length = 0;
  directory = testDir();
  await using stopped = await StoppedDirectory.begin(directory);
  const entries = [registerEntry(3), createEntry(SHOP, 'shop', FOUNDERS), createEntry(QUIET, 'quiet', FOUNDERS)];
  await stopped.catalog(entries, 3, membershipOf(FOUNDERS));
  const shop = { group: SHOP, name: 'shop', replicas: FOUNDERS, texts: TEXTS };
  await stopped.database({ ...shop, applied: 5, checkpoint: 3 });
  await stopped.database({ group: QUIET, name: 'quiet', replicas: FOUNDERS, texts: [] });
  await stopped.store.compact(new Uint8Array(0), Uint8Array.of(0xff));
});

async function started(): Promise<Node> {
  const node = await startNode({
    coreWorker: CORE_WORKER,
    dataDirectory: directory,
    name: 'node-3',
    mayFound: false,
    logger,
    metrics: createMetrics({ runtime: false }),
    links: { host: '127.0.0.1', port: 0, advertisedHost: '127.0.0.1', peers: [] },
  });
  onTestFinished(() => node.drain());
  return node;
}

/** Everything is there, and what was acknowledged is not stored twice. */
async function expectWhole(node: Node): Promise<void> {
  await expect.poll(() => node.latest(SHOP).catch(() => undefined), { timeout: 20_000 }).toBe(7);
  expect(await databaseKit.history(node.reader, SHOP)).toEqual(TEXTS);
  expect(await node.transact(SHOP, databaseKit.payload('t2'))).toEqual({ kind: 'replayed', revision: 2 });
  expect(await node.transact(SHOP, databaseKit.payload('t8'))).toMatchObject({ kind: 'committed', revision: 8 });
  expect(await node.transact(QUIET, databaseKit.payload('t1'))).toMatchObject({ kind: 'committed', revision: 1 });
  expect(existsSync(join(directory, 'damage'))).toBe(false);
}

it.each(LEVEL_DAMAGES)('a start makes all rows again when $what', async ({ damage }) => {
  damage(join(directory, 'store'));
  const node = await started();
  await expectWhole(node);
  expect(logged).toEqual(['rows-removed', 'database-rebuilding']);
  await node.drain();
  logged.length = 0;
  await (await started()).drain();
  expect(logged).toEqual([]);
});

it.each<[string, (path: string) => void, RegExp]>([
  [
    'have a wrong end',
    (path) => flipAt(path, 0.9999),
    /Corruption: not an sstable.* The next start makes all rows again/,
  ],
  ['are cut', (path) => truncateSync(path, 100), /Invalid argument.* The next start makes all rows again/],
])('the start that follows makes all rows again when tables %s', async (_, damage, says) => {
  const store = join(directory, 'store');
  const tables = readdirSync(store).filter((name) => name.endsWith('.ldb'));
  expect(tables).not.toEqual([]);
  for (const name of tables) damage(join(store, name));
  await expect(started()).rejects.toThrow(says);
  expect(readFileSync(join(directory, 'damage'), 'utf8')).toMatch(/^Rows of the store .*\nstore\n$/);
  const node = await started();
  await expectWhole(node);
  expect(logged).toEqual(['rows-removed', 'database-rebuilding']);
});

it('serves the other databases when rows of one are damaged, and rebuilds these', async () => {
  const store = await openLevelStore(join(directory, 'store'));
  const batch = store.batch();
  batch.del(new RowKeys(SHOP).position(2));
  await store.write(batch);
  await store.close();
  noteDamage(directory, { text: 'a row is missing', groups: [SHOP], isOfStore: false });
  const node = await started();
  expect(node.absence(SHOP)).toMatchObject({ code: 'unavailable', details: { reason: 'BeingRebuilt' } });
  await expect(node.transact(QUIET, databaseKit.payload('t0'))).resolves.toMatchObject({ kind: 'committed' });
  await expect.poll(() => node.absence(SHOP), { timeout: 20_000 }).toBeUndefined();
  expect([await node.latest(SHOP), await databaseKit.history(node.reader, SHOP)]).toEqual([7, TEXTS]);
  expect([logged, existsSync(join(directory, 'damage'))]).toEqual([['database-rebuilding'], false]);
});
