// Goal: no group has two histories: a member gets entries that its disk has lost again, and a replica that diverged
// leaves its group. Method: three nodes whose disks the test copies and restores.
import { describe, expect, it } from 'vitest';
import { type GroupId, LEVELS, toNodeId } from '#base';
import type { Machines } from '#cluster';
import type { Machine } from '../../../src/cluster/machine.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import {
  ReplicaWorld,
  type ReplicaWorldOptions,
  startTrio,
  type WorldNode,
} from '../../support/cluster/replica-world.ts';
import { withMethods } from '../../support/with-methods.ts';

interface Three {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly nodes: readonly [WorldNode, WorldNode, WorldNode];
}

/** Three nodes with a database of one transaction, of which the first is the leader. */
async function three(options: ReplicaWorldOptions = {}): Promise<Three> {
  const { world, group, leader, others } = await startTrio(options);
  await write(world, group, leader, ['first']);
  await world.pass(1000);
  return { world, group, nodes: [leader, ...others] };
}

async function write(world: ReplicaWorld, group: GroupId, node: WorldNode, texts: readonly string[]): Promise<void> {
  for (const text of texts) await world.answer(node.transact(group, text));
}

/**
 * The first two nodes acknowledge two transactions. Then the second one loses them, and decides others with the third.
 */
async function parted({ world, group, nodes: [first, second, third] }: Three): Promise<void> {
  const putBack = await second.copyDisks();
  await third.crash();
  await write(world, group, first, ['one', 'two']);
  await world.pass(200);
  await second.crash();
  await first.crash();
  putBack();
  await second.start();
  await third.start();
  await write(world, group, await world.leader(group), ['other']);
  await first.start();
}

function reasonFor(group: GroupId, { front }: WorldNode): string | undefined {
  return front.absence(group)?.details.reason;
}

it('a member whose disk was restored gets its acknowledged entries again, and its leader reports the loss', async () => {
  const { world, group, nodes } = await three();
  const [first, second, third] = nodes;
  const putBack = await second.copyDisks();
  await write(world, group, first, ['one', 'two']);
  await world.pass(1000);
  await second.crash();
  putBack();
  await second.start();
  await world.until(() => second.front.readable(group) === 3, 'everything', 2000);
  await third.crash();
  await write(world, group, first, ['three']);
  await world.until(() => second.front.readable(group) === 4, 'everything', 2000);
  expect(await second.history(group)).toEqual(['first', 'one', 'two', 'three']);
  expect(first.historyNotes).toContainEqual(
    expect.objectContaining({ kind: 'acknowledged-lost', group, node: second.node }),
  );
  expect([world.failures, second.historyNotes]).toEqual([[], []]);
});

describe('a replica whose committed entries differ from those of its group', () => {
  it('is detected when it returns, serves nothing, and keeps its data (C42)', async () => {
    const found = await three();
    const { world, group, nodes } = found;
    const [first, second] = nodes;
    await parted(found);
    await world.until(() => first.historyNotes.length > 0, 'a note', 3000);
    expect(first.historyNotes).toEqual([
      expect.objectContaining({
        kind: 'diverged',
        group,
        reason: expect.stringMatching(/ is \w+ on node \d, and \w+ on/),
      }),
    ]);
    expect([reasonFor(group, first), first.front.health().hasDiverged]).toEqual(['NotReplica', true]);
    // Other nodes are not asked for revisions that only this history has.
    expect([first.front.readable(group), first.front.answered(group)]).toEqual([0, 0]);
    expect(first.core.health.diverged).toBe(1);
    expect(first.core.admin.describe().diverged).toEqual([
      expect.objectContaining({ node: first.node, group, title: 'database "shop"' }),
    ]);
    await write(world, group, await world.leader(group), ['more']);
    expect(await databaseKit.history(first.kv, group)).toEqual(['first', 'one', 'two']);
    await world.until(() => second.front.readable(group) === 3, 'everything', 2000);
    expect(await second.history(group)).toEqual(['first', 'other', 'more']);
    // The catalog is the same for all.
    await world.answer(first.front.currentCatalog() ?? Promise.resolve());
    expect(await world.answer(first.front.createDatabase('next'))).toMatchObject({ kind: 'created' });
    expect(world.failures).toEqual([]);
  });
});

describe('a replica with another state after the same entries', () => {
  const ODD = toNodeId(3);

  /** Applies another transaction instead of the one with this text. */
  function misapplying(text: string): Machines {
    const [from, to] = [databaseKit.payload(text), databaseKit.payload('!'.repeat(text.length))];
    const odd = (machine: Machine): Machine =>
      withMethods(machine, {
        apply: (entry) => machine.apply(entry.payload.length === from.length ? { ...entry, payload: to } : entry),
      });
    return {
      ...databaseKit.machines,
      createDatabase: (...args) => odd(databaseKit.machines.createDatabase(...args)),
      openDatabase: (...args) => {
        const machine = databaseKit.machines.openDatabase(...args);
        return machine && odd(machine);
      },
    };
  }

  it('is detected by its chain hash within seconds, and no other replica is', async () => {
    const world = new ReplicaWorld(3);
    world.at(ODD).release = { machines: misapplying('odd text'), levels: LEVELS };
    for (const node of world.nodes) await world.at(node).start();
    const { group } = await world.create();
    const leader = await world.leader(group);
    await write(world, group, leader, ['first', 'odd text']);
    await world.until(() => world.up.some(({ historyNotes }) => historyNotes.length > 0), 'a note', 5000);
    await world.pass(5000);
    const diverged = world.up.filter((each) => reasonFor(group, each) !== undefined);
    // If it is the leader, the two others differ from their leader.
    expect(diverged.includes(world.at(ODD))).toBe(leader.node !== ODD);
    for (const { historyNotes } of diverged) {
      expect(historyNotes).toEqual([
        expect.objectContaining({ reason: expect.stringMatching(/^the chain hash of revision 2 is [0-9a-f]{64} on/) }),
      ]);
    }
    expect(world.failures).toEqual([]);
  });
});

it('replicas with one history compare it after a write, and send nothing while idle', async () => {
  const { world, group, nodes } = await three();
  await world.pass(3000);
  const said: string[] = [];
  world.network.intercepts = (_to, items) => {
    said.push(...items.map(({ kind }) => kind));
    return false;
  };
  await world.pass(10_000);
  expect(said.filter((kind) => kind === 'compare')).toEqual([]);
  await write(world, group, nodes[0], ['more']);
  await world.pass(3000);
  const compared = said.filter((kind) => kind === 'compare' || kind === 'same').toSorted();
  expect(compared).toEqual(['compare', 'compare', 'same', 'same']);
  expect(nodes.flatMap(({ historyNotes }) => historyNotes)).toEqual([]);
});
