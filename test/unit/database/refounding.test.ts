// Goal: the catalog of a refounded cluster has one node, and a new database id and group for each database that
// continues (D21, D10). Method: bindings in two blocks, refounded, flushed and opened.
import { expect, it } from 'vitest';
import { toGroupId, toNodeId, toRevision } from '#base';
import type { Refounding } from '#database';
import { CatalogHost, idOf, replicasOn } from '../../support/catalog-host.ts';

const COUNT = 70;
const MEMBERSHIP = Uint8Array.of(7);
const HASH = new Uint8Array(32).fill(7);
const NODE = toNodeId(3);
const NEW_STORE = idOf(9);

/** Three nodes, of which one leaves, and enough databases that their bindings need two rows. */
async function catalogOfThree(): Promise<CatalogHost> {
  const host = new CatalogHost();
  for (const node of [1, 2, 3]) host.register(node);
  host.apply({ kind: 'mark', node: NODE, state: 'leaving' });
  for (let at = 1; at <= COUNT; at++) host.create(`database-${at}`, at, [1, 2, 3]);
  await host.reopen();
  return host;
}

/**
 * Lets each group continue as the database 1000 + `origin`, from the revision `origin`. By default the origin is the
 * group itself.
 */
function orderFor(groups: readonly number[], origin?: number): Refounding {
  const successors = groups.map((group) => {
    const from = origin ?? group;
    const held = { origin: toGroupId(from), revision: toRevision(from), chainHash: HASH };
    return [toGroupId(group), { databaseId: idOf(1000 + group), ...held }] as const;
  });
  return { node: NODE, storeId: NEW_STORE, membership: MEMBERSHIP, successors: new Map(successors) };
}

it('the catalog of a refounded cluster has the continued databases in new groups, nothing else, and one node', async () => {
  const host = await catalogOfThree();
  const { applied, level } = host.machine;
  const groups = [2, 64, 70];
  const bindings = host.machine.refound(orderFor(groups));
  const own = replicasOn([NODE]);
  const held = { replicas: own, founders: own, leaving: [], placement: 0, isSettled: true, copies: 0 };
  expect(bindings).toEqual(
    groups.map((group, at) => ({
      name: `database-${group}`,
      databaseId: idOf(1000 + group),
      group: COUNT + 1 + at,
      createdAtMs: group,
      ...held,
      recovery: { databaseId: idOf(group), group, rootId: idOf(group), revision: group, chainHash: HASH },
    })),
  );
  await host.reopen();
  const after = host.machine;
  expect(after.list()).toEqual(bindings);
  expect(after.lookup('database-1')).toBeUndefined();
  expect(after.nodes().map(({ node, state, storeId }) => [node, state, storeId])).toEqual([
    [1, 'removed', idOf(1)],
    [2, 'removed', idOf(2)],
    [3, 'active', NEW_STORE],
  ]);
  const { index, term, revision } = applied;
  const place = { index, term, logStart: index, revision: revision + 1, nextGroup: COUNT + 4 };
  expect(after.applied).toMatchObject({ ...place, group: { index, membership: MEMBERSHIP } });
  expect(after.applied.chainHash).not.toEqual(applied.chainHash);
  expect(after.level).toBe(level);
});

it('the catalog of a refounded cluster never uses a node number or group number twice (D10, D14)', async () => {
  const host = await catalogOfThree();
  host.machine.refound(orderFor([1]));
  await host.reopen();
  expect(host.register(4)).toMatchObject({ kind: 'registered', node: { node: 4 } });
  expect(host.create('database-2', 7000, [3])).toMatchObject({ kind: 'created', binding: { group: COUNT + 2 } });
});

it('the catalog of a refounded cluster names the first database as the root of one that continues again (D19)', async () => {
  const host = await catalogOfThree();
  host.machine.refound(orderFor([5]));
  const [again] = host.machine.refound(orderFor([COUNT + 1], 5));
  expect(again?.recovery).toMatchObject({ databaseId: idOf(1005), group: 5, rootId: idOf(5), revision: 5 });
});
