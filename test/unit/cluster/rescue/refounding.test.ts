// Goal: one stopped node of a lost cluster founds a new cluster with all its data; a crash leaves the old node or the
// new one (C28, C24). Method: real directories, copied at each step.
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { replicaOf, toNodeId, toRevision } from '#base';
import {
  acceptanceOf,
  faultInRefounding,
  type Node,
  nativeRandom,
  openStoppedNode,
  type Refounded,
  refound,
  startNode,
  surveyOf,
} from '#cluster';
import { encodeCatalogEntry } from '#database';
import { createMetrics, silentLogger } from '#observability';
import { CORE_WORKER } from '../../../../src/main/node/open-node.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import {
  createEntry,
  groupOf,
  IDENTITY,
  idOf,
  registerEntry,
  StoppedDirectory,
  TERM,
} from '../../../support/cluster/stopped-node.ts';
import { testDir } from '../../../support/test-scope.ts';

const NOW_MS = 1_770_000_000_000;
const TEXTS = ['t1', 't2', 't3', 't4', 't5', 't6', 't7'];
const [SHOP, CARTS, QUIET, OLD, LATE] = [1, 2, 3, 4, 5].map(groupOf) as [never, never, never, never, never];
const [NODE_1, NODE_2, NODE_3] = [1, 2, 3].map((node) => replicaOf(toNodeId(node))) as [never, never, never];
const HASH = new Uint8Array(32).fill(7);
const PORTS = { nowMs: NOW_MS, random: nativeRandom };

/**
 * Node 3: `shop` has five transactions applied, three of them durable, and two more in its log; `quiet` has none, and
 * has lost its first row; `carts` is on other nodes. The log of the catalog ends with entries that are not known to be
 * committed: they create `late` and delete `old`.
 */
async function nodeThree(): Promise<string> {
  const directory = testDir();
  await using node = await StoppedDirectory.begin(directory);
  const committed = [
    ...[1, 2, 3].map((each) => registerEntry(each)),
    createEntry(SHOP, 'shop'),
    createEntry(CARTS, 'carts', [NODE_1, NODE_2]),
    createEntry(QUIET, 'quiet', [NODE_3]),
    createEntry(OLD, 'old'),
  ];
  const deletion = encodeCatalogEntry({ kind: 'delete', name: 'old', databaseId: idOf(OLD) });
  await node.catalog([...committed, createEntry(LATE, 'late'), deletion], committed.length);
  await node.database({ group: SHOP, name: 'shop', texts: TEXTS, applied: 5, checkpoint: 3 });
  await node.database({ group: OLD, name: 'old', texts: ['t1'] });
  return directory;
}

async function recover(directory: string, ports: Parameters<typeof refound>[1] = PORTS): Promise<Refounded> {
  await using node = await openStoppedNode(directory);
  return await refound(node, ports);
}

async function started(directory: string): Promise<Node> {
  const node = await startNode({
    coreWorker: CORE_WORKER,
    dataDirectory: directory,
    name: 'node-3',
    mayFound: false,
    logger: silentLogger,
    metrics: createMetrics({ runtime: false }),
    links: { host: '127.0.0.1', port: 0, advertisedHost: '127.0.0.1', peers: [] },
  });
  onTestFinished(() => node.drain());
  return node;
}

async function textsOf(node: Node, name: string): Promise<readonly string[]> {
  const binding = node.catalog.lookup(name);
  if (binding === undefined) return ['no such database'];
  await expect.poll(() => node.latest(binding.group).catch(() => undefined), { timeout: 20_000 }).toBeDefined();
  return databaseKit.history(node.reader, binding.group);
}

async function expectRecovered(directory: string): Promise<void> {
  const node = await started(directory);
  expect(node.identity.node).toBe(IDENTITY.node);
  expect(node.identity.clusterId).not.toBe(IDENTITY.clusterId);
  expect(node.identity.storeId).not.toBe(IDENTITY.storeId);
  expect(node.catalog.list().map(({ name }) => name)).toEqual(['quiet', 'shop']);
  expect(await textsOf(node, 'shop')).toEqual(TEXTS);
  expect(await textsOf(node, 'quiet')).toEqual([]);
  const group = node.catalog.lookup('shop')?.group ?? SHOP;
  expect(await node.transact(group, databaseKit.payload('t8'))).toMatchObject({ kind: 'committed', revision: 8 });
  expect(await node.transact(group, databaseKit.payload('t7'))).toEqual({ kind: 'replayed', revision: 7 });
  await node.drain();
}

async function expectUnchanged(directory: string): Promise<void> {
  const node = await started(directory);
  expect(node.identity).toEqual(IDENTITY);
  expect(node.catalog.lookup('shop')?.databaseId).toBe(idOf(SHOP));
  await node.drain();
  expect(readdirSync(directory).filter((name) => name.startsWith('log'))).toEqual(['log']);
}

it('a stopped node reports its data, the lost databases, the other nodes, and the ends of its logs', async () => {
  await using node = await openStoppedNode(await nodeThree());
  expect(faultInRefounding(node)).toBeUndefined();
  const survey = surveyOf(node);
  expect(survey).toMatchObject({
    ...IDENTITY,
    before: undefined,
    catalog: { last: { index: 10, term: TERM }, unapplied: 2, deleted: ['old'] },
    nodes: [1, 2, 3].map((each) => ({ node: each, name: `node-${each}`, state: 'active', isVoter: true })),
    databases: [
      { name: 'quiet', databaseId: idOf(QUIET), revision: 0, last: { index: 0, term: 0 }, unapplied: 0, others: [] },
      {
        name: 'shop',
        databaseId: idOf(SHOP),
        revision: 5,
        recordedTimeMs: 1_760_000_005_000,
        last: { index: 8, term: TERM },
        unapplied: 2,
        others: [1, 2],
      },
    ],
    lost: [
      { name: 'carts', databaseId: idOf(CARTS), nodes: [1, 2] },
      { name: 'late', databaseId: idOf(LATE), nodes: [1, 2, 3] },
    ],
  });
  expect(acceptanceOf(survey)).toMatch(/^[0-9a-f]{8}$/);
  const [lost] = survey.lost;
  expect(acceptanceOf({ ...survey, lost: lost === undefined ? [] : [lost] })).not.toBe(acceptanceOf(survey));
});

it('a stopped node makes the rows of its databases again when LevelDB is damaged, and founds a cluster with them', async () => {
  const directory = await nodeThree();
  rmSync(join(directory, 'store', 'CURRENT'));
  {
    await using node = await openStoppedNode(directory);
    const { databases, lost } = surveyOf(node);
    // The rows end at the last checkpoint; the log has the later entries.
    expect(databases).toMatchObject([
      { name: 'quiet', revision: 0, unapplied: 0 },
      { name: 'shop', revision: 3, unapplied: 4 },
    ]);
    expect(lost.map(({ name }) => name)).toEqual(['carts', 'late']);
  }
  await recover(directory);
  rmSync(join(directory, 'store', 'CURRENT'));
  await expectRecovered(directory);
});

it.each([
  ['draft', false],
  ['log', false],
  ['store', true],
  ['settled', true],
] as const)('the new cluster exists or not after a kill that follows the step %s', async (at, isNew) => {
  const directory = await nodeThree();
  const copy = join(testDir(), 'copy');
  const done = (step: string): void => {
    if (step === at) cpSync(directory, copy, { recursive: true });
  };
  await recover(directory, { ...PORTS, done });
  expect(existsSync(copy)).toBe(true);
  if (isNew) await expectRecovered(copy);
  else {
    await expectUnchanged(copy);
    await recover(copy);
    await expectRecovered(copy);
  }
});

it.each([
  ['of which no row is made', [], false, false],
  ['of which the rows are made, and no log', [], true, false],
  ['of which the rows are made, and a part of the log', [], true, true],
  ['on a node that is lost', [toNodeId(1)], false, false],
] as const)(
  'the new cluster continues a database that was being recovered, %s',
  async (_, [onto = toNodeId(3)], isMade, isBegun) => {
    const directory = testDir();
    {
      await using node = await StoppedDirectory.begin(directory);
      const recovery = {
        group: SHOP,
        databaseId: idOf(9),
        node: onto,
        revision: toRevision(5),
        chainHash: HASH,
      } as const;
      const payload = encodeCatalogEntry({ kind: 'recover', ...recovery });
      await node.catalog([...[1, 2, 3].map((each) => registerEntry(each)), createEntry(SHOP, 'shop'), payload]);
      await node.database({ group: SHOP, name: 'shop', texts: TEXTS, applied: 5, checkpoint: 3 });
      if (isMade) await node.copy('shop');
      if (isBegun) node.beginLog('shop', 't6');
    }
    const { bindings } = await recover(directory);
    expect(bindings).toMatchObject([
      {
        name: 'shop',
        group: 3,
        recovery: { databaseId: idOf(9), rootId: idOf(SHOP), group: SHOP, revision: 5 },
      },
    ]);
    const node = await started(directory);
    expect(await textsOf(node, 'shop')).toEqual(TEXTS);
    const group = node.catalog.lookup('shop')?.group ?? SHOP;
    expect(await node.transact(group, databaseKit.payload('t8'))).toMatchObject({ kind: 'committed', revision: 8 });
    await node.drain();
    expect(await textsOf(await started(directory), 'shop')).toEqual([...TEXTS, 't8']);
  },
);
