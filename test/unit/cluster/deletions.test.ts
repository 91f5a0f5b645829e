// Goal: after an acknowledged deletion, or the acknowledged creation of the next instance, no node answers from the
// instance before it (C21, C26); in a cluster that is well that costs milliseconds. Method: three nodes over a network
// in memory.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP } from '#base';
import { LIMITS } from '#cluster';
import { ReplicaWorld, type WorldNode } from '../../support/cluster/replica-world.ts';

interface Nodes {
  readonly world: ReplicaWorld;
  readonly leader: WorldNode;
  readonly follower: WorldNode;
  readonly third: WorldNode;
}

/** Three nodes that have run for so long that nothing of their starts counts any more, with a database. */
async function started(): Promise<Nodes> {
  const world = await ReplicaWorld.started(3);
  const leader = await world.leader(CATALOG_GROUP);
  const [follower, third] = world.up.filter(({ node }) => node !== leader.node);
  if (follower === undefined || third === undefined) throw new Error('There are three nodes');
  await world.pass(2 * LIMITS.fenceMs);
  await world.answer(leader.front.createDatabase('shop'));
  await world.pass(1000);
  return { world, leader, follower, third };
}

/** How long something takes to be answered. */
async function elapsed(world: ReplicaWorld, asked: Promise<unknown>): Promise<number> {
  const fromMs = world.nowMs;
  await world.answer(asked);
  return world.nowMs - fromMs;
}

/** The instance that a client of the node is answered from: undefined when there is none, or the node does not know. */
async function look({ front }: WorldNode): Promise<string | undefined> {
  const waiting = front.currentCatalog();
  const isHeld = waiting === undefined || (await waiting.then(() => true).catch(() => false));
  return isHeld ? front.catalog.lookup('shop')?.databaseId : undefined;
}

/** A node hears everything but of changes of the catalog. */
function keepBack(world: ReplicaWorld, { node }: WorldNode): void {
  world.network.isHeld = (_from, to, { group, message }) =>
    to === node && group === CATALOG_GROUP && (message.kind === 'append' || message.kind === 'commit');
}

function cutOff(world: ReplicaWorld, { node }: WorldNode): void {
  for (const other of world.nodes) world.network.cut(node, other);
}

describe('a deletion in a cluster that is well (C26)', () => {
  it.each(['leader', 'follower'] as const)('is told within milliseconds by the %s', async (asked) => {
    const nodes = await started();
    expect(await elapsed(nodes.world, nodes[asked].front.deleteDatabase('shop'))).toBeLessThan(100);
    for (const node of nodes.world.up) expect(node.front.catalog.lookup('shop')).toBeUndefined();
    expect(await elapsed(nodes.world, nodes[asked].front.createDatabase('shop'))).toBeLessThan(100);
  });
});

describe('a node whose clients do not see the deletion (C21, C26)', () => {
  it('answers from the old instance as long as nobody was told that it is gone, and not afterwards', async () => {
    const { world, leader, third } = await started();
    const before = third.front.catalog.lookup('shop')?.databaseId;
    expect(await world.answer(look(third))).toBe(before);
    keepBack(world, third);
    let isTold = false;
    const deleting = leader.front.deleteDatabase('shop').finally(() => {
      isTold = true;
    });
    const wrong: number[] = [];
    const fromMs = world.nowMs;
    while (world.nowMs < fromMs + 2 * LIMITS.fenceMs) {
      const wasTold = isTold;
      void look(third).then((found) => wasTold && found === before && wrong.push(world.nowMs - fromMs));
      await world.pass(200);
    }
    await deleting;
    expect(wrong).toEqual([]);
    // It was not looked at in vain.
    expect(third.front.catalog.lookup('shop')?.databaseId).toBe(before);
  });

  it('is waited for until it was silent for the length of a lease, and no longer', async () => {
    const { world, leader, third } = await started();
    expect(await world.answer(look(third))).toBeDefined();
    cutOff(world, third);
    await world.pass(LIMITS.fenceMs / 2);
    const ms = await elapsed(world, leader.front.deleteDatabase('shop'));
    expect(ms).toBeGreaterThan(LIMITS.fenceMs / 2 - 1000);
    expect(ms).toBeLessThan(LIMITS.fenceMs / 2 + 500);
    expect(await world.answer(look(third))).toBeUndefined();
    expect(await elapsed(world, leader.front.createDatabase('shop'))).toBeLessThan(100);
    expect(await elapsed(world, leader.front.deleteDatabase('shop'))).toBeLessThan(100);
  });
});
