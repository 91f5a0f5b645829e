// Goal: a recovered database has the unchanged history of its origin, and takes its name (D10, D19). Method: the entry
// through restarts; copied rows compared with those of the origin.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type NodeId, replicaOf, toDatabaseId, toGroupId, toNodeId, toRevision } from '#base';
import {
  type CatalogEntry,
  type CatalogOutcome,
  copyRows,
  DatabaseReader,
  databaseAt,
  genesisHash,
  recoverInto,
  verifyHistory,
} from '#database';
import { type KvStore } from '#kv';
import { NO_CHECKPOINT } from '#storage';
import { CatalogHost, idOf } from '../../support/catalog-host.ts';
import { DATABASE_ID, DatabaseHost, sha256, sourceOf } from '../../support/database-host.ts';
import type { OracleRequest } from '../../support/database-oracle.ts';
import { arbRequest, payloadOf, stampMs } from '../../support/database-requests.ts';
import { sharedContent } from '../../support/database-rows.ts';

const NEW_ID = toDatabaseId('0198c0de-0000-7000-8000-00000000cafe');
const THIRD_ID = toDatabaseId('0198c0de-0000-7000-8000-00000000f00d');
const [NODE_2, NODE_4] = [toNodeId(2), toNodeId(4)];
const HASH = new Uint8Array(32).fill(7);
const TARGET = 9;

function recovery(group: number, node: NodeId, databaseId = NEW_ID): CatalogEntry {
  const what = { group: toGroupId(group), node, databaseId, revision: toRevision(8), chainHash: HASH };
  return { kind: 'recover', ...what };
}

it('a recovery in the catalog binds the name to a new database in its own group, and stores its origin (D10, D19)', async () => {
  const host = new CatalogHost();
  const recover = (...what: Parameters<typeof recovery>): CatalogOutcome => host.apply(recovery(...what));
  host.create('other', 1, [1, 2]);
  const before = host.create('shop', 2, [1, 2], 5);
  if (before.kind !== 'created') throw new Error('It is free');
  expect(recover(2, NODE_4)).toEqual({ kind: 'unmoved' });
  expect(recover(7, NODE_2)).toEqual({ kind: 'unmoved' });
  const replicas = [replicaOf(NODE_2)];
  const origin = { databaseId: idOf(2), group: 2, rootId: idOf(2), revision: 8, chainHash: HASH };
  const held = { replicas, founders: replicas, leaving: [], placement: 0, isSettled: true, copies: 5 };
  const binding = { name: 'shop', databaseId: NEW_ID, group: 3, createdAtMs: 2, ...held, recovery: origin };
  expect(recover(2, NODE_2)).toEqual({ kind: 'recovered', before: before.binding, binding });
  expect(recover(2, NODE_2)).toEqual({ kind: 'unmoved' });
  await host.reopen();
  expect(host.machine.list()).toMatchObject([{ name: 'other', group: 1 }, binding]);
  expect(recover(3, NODE_2, THIRD_ID)).toMatchObject({
    kind: 'recovered',
    binding: { group: 4, recovery: { databaseId: NEW_ID, group: 3, rootId: idOf(2) } },
  });
  await host.reopen();
  expect(host.machine.lookup('shop')).toMatchObject({ databaseId: THIRD_ID, group: 4, createdAtMs: 2 });
  expect(host.machine.applied).toMatchObject({ revision: 4, nextGroup: 5 });
});

const requests = fc
  .array(arbRequest({ variety: 20, eventsMax: 8 }), { minLength: 30, maxLength: 30, size: 'max' })
  .map((list) => list.map((request, step): OracleRequest => ({ ...request, stampedMs: stampMs(step, 0) })));
const [LIST = []] = fc.sample(requests, { numRuns: 1, seed: 5 });

async function originHost(): Promise<DatabaseHost> {
  const host = new DatabaseHost();
  for (const [place, request] of LIST.entries()) {
    await host.apply(payloadOf(request));
    if (place % 4 === 3) await host.flush();
  }
  await host.flush();
  return host;
}

const target = (kv: KvStore) => sourceOf(kv, TARGET);
const INSTANCE = { databaseId: NEW_ID, rootId: DATABASE_ID, membership: Uint8Array.of(3) };

async function recoveredFrom({ kv, source }: DatabaseHost): Promise<void> {
  expect(await copyRows(kv, source, target(kv), () => true)).toBe(true);
  const batch = kv.batch();
  recoverInto(batch, source, target(kv), INSTANCE);
  await kv.write(batch);
}

/** Content that replicas share, without the group in keys and the identity in the applied row. */
async function contentOf(kv: KvStore, group: number): Promise<unknown> {
  const rows = await sharedContent(kv, toGroupId(group));
  return rows.slice(0, -1).map((row) => String(row).replace(/^01000000../, ''));
}

it('the rows of a recovered database (D19) are those of its origin, and its log continues that of the origin', async () => {
  const host = await originHost();
  const before = host.machine.applied;
  await recoveredFrom(host);
  const applied = new DatabaseReader(target(host.kv)).applied();
  const group = { index: 0, membership: Uint8Array.of(3) };
  expect(applied).toEqual({ ...before, databaseId: NEW_ID, group, logStart: before.index });
  expect(before.revision).toBeGreaterThan(5);
  expect(await contentOf(host.kv, TARGET)).toEqual(await contentOf(host.kv, host.source.group));
  expect(await verifyHistory(target(host.kv), NO_CHECKPOINT)).toBeUndefined();
  const { chainHash } = await databaseAt(new DatabaseReader(target(host.kv)), before, 0);
  expect(chainHash).toEqual(genesisHash(sha256, DATABASE_ID));
});
