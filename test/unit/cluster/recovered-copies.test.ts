// Goal: a recovered database continues wherever the process ended between its rows and its log, and its origin is
// deleted (C24). Method: a real directory of a node that is alone, as such a process leaves it.
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type NodeId, replicaOf, toNodeId, toRevision } from '#base';
import { type Node, startNode } from '#cluster';
import { encodeCatalogEntry } from '#database';
import { createMetrics, silentLogger } from '#observability';
import { membershipOf } from '#raft';
import { Ledger, ledgerIn, openLevelStore } from '#storage';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { ledgerStore } from '../../../src/cluster/store/ledger-store.ts';
import { readTrash } from '../../../src/cluster/store/node-rows.ts';
import { CORE_WORKER } from '../../../src/main/node/open-node.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import { createEntry, groupOf, idOf, registerEntry, StoppedDirectory } from '../../support/cluster/stopped-node.ts';
import { eventually } from '../../support/eventually.ts';
import { drain } from '../../support/kv-conformance.ts';
import { testDir } from '../../support/test-scope.ts';

const TEXTS = ['t1', 't2', 't3', 't4', 't5', 't6', 't7'];
const [SHOP, NEXT] = [groupOf(1), groupOf(2)];
const NODE: NodeId = toNodeId(3);
/** Not even the entry with which the leader began. */
const NONE = -1;

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

describe.each([
  ['', false],
  [', and LevelDB is damaged', true],
])('a recovered database continues when its rows are', (damage, isDamaged) => {
  it.each([
    ['not made', undefined, 5],
    ['made, and the origin is not marked', false, 5],
    ['made, and the origin is marked', true, 5],
    ['made before an entry was applied, and the origin is not marked', false, NONE],
    ['made before an entry was applied, and the origin is marked', true, NONE],
    ['made, and one of two entries is in its log', true, 5, true],
  ] as const)(`%s${damage}`, async (_, isMarked, applied, isBegun?: boolean) => {
    const directory = testDir();
    {
      await using stopped = await StoppedDirectory.begin(directory);
      const recovery = { group: SHOP, databaseId: idOf(9), node: NODE, revision: toRevision(5) } as const;
      const payload = encodeCatalogEntry({ kind: 'recover', ...recovery, chainHash: new Uint8Array(32).fill(7) });
      const founders = [replicaOf(NODE)];
      const entries = [registerEntry(3), createEntry(SHOP, 'shop', founders), payload];
      await stopped.catalog(entries, 3, membershipOf(founders));
      const checkpoint = Math.min(applied, 3);
      await stopped.database({ group: SHOP, name: 'shop', replicas: founders, texts: TEXTS, applied, checkpoint });
      if (isMarked !== undefined) await stopped.copy('shop', { isMarked });
      if (isBegun === true) stopped.beginLog('shop', 't6');
    }
    if (isDamaged) rmSync(join(directory, 'store', 'CURRENT'));
    const node = await started(directory);
    await eventually(async () => {
      expect(await node.transact(NEXT, databaseKit.payload('t8'))).toMatchObject({ kind: 'committed', revision: 8 });
    });
    await node.drain();
    const again = await started(directory);
    await eventually(async () => expect(await remains(directory)).toEqual([]));
    await again.drain();
  });
});

/** Marks of the trash, and keys of the origin. The core has the ledger open, so a copy of the file is read. */
async function remains(directory: string): Promise<readonly unknown[]> {
  const copied = testDir();
  copyFileSync(ledgerIn(directory), ledgerIn(copied));
  const rows = await openLevelStore(join(directory, 'store'));
  const store = ledgerStore(rows, await Ledger.open(copied));
  const left: unknown[] = [...(await drain(store, databaseMachines.rowsOf(SHOP)))];
  for await (const group of readTrash(store)) left.push(group);
  await store.close();
  return left;
}
