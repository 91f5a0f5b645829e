// Goal: a leader with an outdated catalog does not move its group back to an earlier placement (C17, D15). Method: five
// nodes over a network in memory, and moves by entries of the catalog.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, replicaOf, toNodeId } from '#base';
import { clusterOf } from '../../../support/cluster/core-parts.ts';
import { ReplicaWorld, type WorldNode } from '../../../support/cluster/replica-world.ts';

async function place(world: ReplicaWorld, group: GroupId, nodes: readonly number[]): Promise<void> {
  const leader = await world.leader(CATALOG_GROUP);
  const placement = (): number => leader.front.catalog.lookup('shop')?.placement ?? 0;
  const before = placement();
  leader.core.place(group, nodes.map(toNodeId));
  await world.until(() => placement() > before, 'another placement');
}

async function placed(world: ReplicaWorld, nodes: readonly number[]): Promise<void> {
  const isThere = ({ front }: WorldNode): boolean => {
    const binding = front.catalog.lookup('shop');
    return binding?.leaving.length === 0 && sorted(binding.replicas.map(nodeOf)) === sorted(nodes);
  };
  await world.until(() => world.up.every(isThere), `a database on ${nodes.join()}`, 60_000);
  expect(world.failures).toEqual([]);
}

async function leadElsewhere(world: ReplicaWorld, group: GroupId, node: WorldNode): Promise<void> {
  if ((await world.leader(group)) !== node) return;
  await node.crash();
  await world.pass(5000);
  await node.start();
  await world.pass(2000);
}

function sorted(nodes: readonly number[]): string {
  return [...nodes].toSorted((one, other) => one - other).join();
}

it('a leader with an outdated catalog does not move its group back to an earlier placement', async () => {
  const world = await ReplicaWorld.started(5, {
    limits: { checkpointIntervalMs: 1e9, checkpointBytes: 1e9, writeEntries: 3, trashDelayMs: 10_000 },
    cluster: (nodes, node) => ({
      ...clusterOf(nodes, node),
      placement: { replicas: () => nodes.slice(0, 3).map((each) => replicaOf(each)) },
    }),
  });
  const { group } = await world.create();
  const write = async (text: string) => world.answer((await world.leader(group)).transact(group, text));
  await world.pass(1500);
  await write('a');
  await place(world, group, [1, 2, 4]);
  await placed(world, [1, 2, 4]);
  const two = world.at(toNodeId(2));
  await leadElsewhere(world, CATALOG_GROUP, two);
  await leadElsewhere(world, group, two);
  // Node 2 receives messages of its group, but none of the catalog.
  world.network.isHeld = (from, to, { group: of }) => of === CATALOG_GROUP && (from === 2 || to === 2);
  await place(world, group, [1, 2, 5]);
  const hasLeft = (): boolean =>
    !(world.at(toNodeId(1)).front.catalog.lookup('shop')?.replicas.map(nodeOf).includes(toNodeId(4)) ?? true);
  await world.until(hasLeft, 'node 4 holds it no more', 60_000);
  expect(two.front.catalog.lookup('shop')?.placement).toBe(1);
  for (const other of [1, 5]) world.network.cut(toNodeId(other), toNodeId(4));
  await leadElsewhere(world, group, world.at(toNodeId(1)));
  await leadElsewhere(world, group, world.at(toNodeId(5)));
  expect(world.leaderOf(group)).toBe(two);
  await world.pass(5000);
  const members = two.core.membershipOf(group)?.voters.incoming.map(nodeOf) ?? [];
  expect([sorted(members), two.core.membershipOf(group)?.learners]).toEqual(['1,2,5', []]);
  world.network.isHeld = () => false;
  world.network.heal();
  await placed(world, [1, 2, 5]);
  await write('b');
  await world.pass(1500);
  for (const node of [1, 2, 5]) expect(await world.at(toNodeId(node)).history(group)).toEqual(['a', 'b']);
});
