// Goal: an admin request is rejected with its reason when the cluster needs the node (C20); a node that leaves gives up
// its replicas first (D17). Method: tables; nodes in memory.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, replicaOf, toNodeId } from '#base';
import { faultInOrder, type NodeOrder } from '#cluster';
import { membershipOf } from '#raft';
import { FIRST, isAt, joinedWorld, registrationOf, shopOnThree } from '../../../support/cluster/kept-world.ts';
import { type Layout, viewOf } from '../../../support/cluster/layouts.ts';
import type { ReplicaWorld } from '../../../support/cluster/replica-world.ts';

const leave = (node: number): NodeOrder => ({ kind: 'decommission', node: toNodeId(node) });
const stay = (node: number): NodeOrder => ({ kind: 'recommission', node: toNodeId(node) });
const replace = (node: number, by?: number): NodeOrder => {
  return { kind: 'replace', node: toNodeId(node), by: by === undefined ? undefined : toNodeId(by) };
};

function fault(order: NodeOrder, layout: Layout, voters: readonly number[] = [1]): string | undefined {
  const membership = membershipOf(voters.map((node) => replicaOf(toNodeId(node))));
  const found = faultInOrder(order, { ...viewOf(layout), membership, copies: 3 });
  return found && `${found.code}: ${found.reason}`;
}

const THREE: Layout = { zones: 'aaa', held: '123' };
const FOUR: Layout = { zones: 'aaaa', held: '123' };
/** The fourth node has got one of them since it joined. */
const EVENED: Layout = { zones: 'aaaa', held: '123 234' };

it.each<[string, NodeOrder, Layout, readonly number[]]>([
  ['a node leaves', leave(3), FOUR, [1, 2, 3]],
  ['a node leaves, and none is free', leave(3), THREE, [1, 2, 3]],
  ['a node that is lost leaves', leave(3), { ...FOUR, lost: [3] }, [1, 2, 3]],
  ['a node that is silent leaves, and none is free', leave(3), { ...THREE, silent: [3] }, [1, 2, 3]],
  ['the node that holds the only copy leaves', leave(1), { zones: 'aa', held: '1' }, [1]],
  ['the second of two nodes leaves', leave(2), { zones: 'aa', held: '12' }, [1, 2]],
  ['a second node leaves, and three stay', leave(2), { zones: 'aaaaa', held: '123', leaving: [1] }, [3]],
  [
    'a second node leaves a database that asks for one copy',
    leave(3),
    { zones: 'aaaa', held: '13:1', leaving: [2] },
    [1],
  ],
  ['a second node is replaced', replace(2), { zones: 'aaaaa', held: '123', leaving: [1] }, [3]],
  ['a node leaves that is leaving already', leave(3), { ...THREE, leaving: [3], lost: [1, 2] }, [1, 2, 3]],
  ['a node leaves that was removed', leave(3), { ...THREE, removed: [3] }, [1, 2]],
  [
    'a learner leaves, although no voter answers',
    leave(4),
    { ...FOUR, pool: [4], lost: [1, 2], leaving: [3] },
    [1, 2, 3],
  ],
  ['a learner takes the place of a learner', replace(4, 5), { zones: 'aaaaa', held: '123', pool: [4, 5] }, [1, 2, 3]],
  ['a node stays that was to leave', stay(3), { ...THREE, leaving: [3] }, [1, 2]],
  ['a node stays that is not leaving', stay(3), THREE, [1, 2]],
  ['a node takes the place of another', replace(3, 4), FOUR, [1, 2, 3]],
  ['any node takes the place of another', replace(3), FOUR, [1, 2, 3]],
  ['a node that holds some of it takes the place of another', replace(3, 4), EVENED, [1, 2, 3]],
  ['any node takes the place of one that is lost', replace(3), { ...EVENED, lost: [3] }, [1, 2, 3]],
  ['a node takes the place of one that holds nothing', replace(4, 1), FOUR, [1, 2, 3]],
  ['a replacement is requested again', replace(3, 4), { ...FOUR, leaving: [3] }, [1, 2, 4]],
  ['a replacement is complete', replace(3, 4), { ...FOUR, removed: [3] }, [1, 2, 4]],
])('an admin request (C20) is accepted: %s', (_name, order, layout, voters) => {
  expect(fault(order, layout, voters)).toBeUndefined();
});

it.each<[string, NodeOrder, Layout, readonly number[], RegExp]>([
  ['there is no such node', leave(9), THREE, [1], /^not_found: there is no node 9; the cluster has 1, 2, 3$/],
  ['it is the only node', leave(1), { zones: 'a' }, [1], /^failed.*: node 1 is the only one that is active$/],
  ['the other is a learner', leave(1), { zones: 'aa', pool: [2] }, [1], /only one that is active/],
  [
    'only learners answer',
    leave(1),
    { zones: 'aaa', silent: [2], pool: [3] },
    [1],
    /none of the other nodes answers \(2\)/,
  ],
  [
    'a learner would take its place',
    replace(3, 4),
    { ...FOUR, pool: [4] },
    [1, 2, 3],
    /node 4 cannot .*, for it is a learner/,
  ],
  [
    'a voter would take the place of a learner',
    replace(4, 1),
    { ...FOUR, pool: [4] },
    [1, 2, 3],
    /node 1 cannot .* is a learner: name/,
  ],
  [
    'no learner could take its place',
    replace(4),
    { ...FOUR, pool: [4] },
    [1, 2, 3],
    /no node is there that could take the place of/,
  ],
  ['the others leave', leave(1), { zones: 'aa', leaving: [2] }, [1], /only one that is active/],
  ['the others do not answer', leave(1), { zones: 'aa', silent: [2] }, [1], /none of the other nodes answers \(2\)/],
  [
    'the catalog would stop',
    leave(1),
    { zones: 'aaa', silent: [2] },
    [1, 2, 3],
    /the catalog would have no quorum without node 1: of the others answer 3/,
  ],
  [
    'a database would stop',
    leave(3),
    { ...THREE, silent: [2] },
    [1],
    /would be no quorum of db-1 \(on 1, 2, 3\): of the others answer 1/,
  ],
  ['it has stopped', leave(3), { zones: 'aaaa', held: '3 1', silent: [3] }, [1], /would be no quorum of db-1 \(on 3\)/],
  [
    'another one leaves, and one replica would be left',
    leave(3),
    { ...THREE, leaving: [2] },
    [1, 2, 3],
    /: without node 3 too few replicas would be left of db-1 \(on 1, 2, 3\): node 2 leaves already; ask again when it is/,
  ],
  [
    'another one has not gone yet, and one replica would be left',
    leave(3),
    { zones: 'aaa', held: '13', leaving: [2] },
    [1, 2, 3],
    /too few replicas would be left of db-1 \(on 1, 3\): node 2 leaves/,
  ],
  [
    'it has no replica, but is needed for those of other leaving nodes',
    leave(5),
    { zones: 'aaaaa', held: '123', leaving: [1, 2] },
    [3, 4, 5],
    /too few replicas would be left of db-1 \(on 1, 2, 3\): node 1, 2 leaves/,
  ],
  [
    'another one is lost, and one replica would be left',
    leave(2),
    { ...THREE, lost: [3] },
    [1],
    /too few replicas would be left of db-1 \(on 1, 2, 3\): of the others answer 1; see that more do, or start another/,
  ],
  [
    'another node is leaving, and one node could take both places',
    replace(3),
    { ...FOUR, leaving: [2] },
    [1, 2, 3],
    /too few replicas would be left of db-1 \(on 1, 2, 3\): node 2 leaves/,
  ],
  [
    'another node is leaving, and a database would have fewer copies than it asks for',
    replace(3),
    { zones: 'aaaaaa', held: '12345:5', leaving: [2] },
    [1, 2, 3],
    /too few replicas would be left of db-1 \(on 1, 2, 3, 4, 5\): node 2 leaves/,
  ],
  ['many would stop', leave(2), { zones: 'aa', held: '2 2 2 2 2', silent: [2] }, [1], /db-3 \(on 2\), and 2 more/],
  ['it was removed', stay(3), { ...THREE, removed: [3] }, [1], /node 3 was removed permanently; a node with an empty/],
  ['it would replace itself', replace(3, 3), FOUR, [1], /node 3 cannot replace itself/],
  ['the other has not joined', replace(3, 5), FOUR, [1], /^not_found: node 5 has not joined; start it with --join/],
  ['the other does not answer', replace(3, 4), { ...FOUR, silent: [4] }, [1], /it is active and silent/],
  ['the other leaves', replace(3, 4), { ...FOUR, leaving: [4] }, [1], /it is leaving and ready/],
  [
    'no node could take its place',
    replace(1),
    { zones: 'aa', silent: [2] },
    [1],
    /: no node is there that could take the place of node 1; start one with --join, and ask again$/,
  ],
  [
    'the others hold it already',
    replace(3),
    THREE,
    [1, 2, 3],
    /: no node is there that could take the place of node 3: nodes 1, 2, which are ready, hold db-1 \(on 1, 2, 3\) already; start one with --join, and ask again$/,
  ],
  ['the other holds it already', replace(3, 1), THREE, [1, 2, 3], /nodes 1, 2, which are ready, hold db-1 .*--join/],
  [
    'the node that has only some of its databases does not answer',
    replace(3),
    { ...EVENED, silent: [1] },
    [1, 2, 3],
    /nodes 2, 4, which are ready, hold db-2 \(on 2, 3, 4\) already/,
  ],
  [
    'the other holds it, and one that is free was not named',
    replace(3, 1),
    FOUR,
    [1, 2, 3],
    /node 1 cannot .* of node 3: it holds all that node 3 does, db-1 \(on 1, 2, 3\); name another one, or ask without --by$/,
  ],
])('an admin request (C20) is rejected with the reason: %s', (...[, order, layout, voters, reason]) => {
  expect(fault(order, layout, voters)).toMatch(reason);
});

it('an admin request (C20) is not rejected for a database that is moving away already', () => {
  const view = viewOf({ ...FOUR, leaving: [3] });
  const [binding] = view.bindings;
  if (binding === undefined) throw new Error('There is one');
  const bindings = [{ ...binding, leaving: [replicaOf(toNodeId(3))], isSettled: false, placement: 1 }];
  const nodes = view.nodes.map((each) => ({ ...each, state: 'active' as const }));
  const membership = membershipOf([replicaOf(toNodeId(1))]);
  expect(faultInOrder(leave(3), { nodes, bindings, membership, copies: 3 })).toBeUndefined();
});

async function ask(world: ReplicaWorld, what: NodeOrder): Promise<unknown> {
  const leader = await world.leader(CATALOG_GROUP);
  return world.answer(leader.core.admin.order(what));
}

const byNumber = (one: number, other: number): number => one - other;

function statesOf(world: ReplicaWorld): string {
  const { nodes } = world.leaderOf(CATALOG_GROUP)?.core.catalog ?? { nodes: [] };
  return nodes.map(({ state }) => state).join(' ');
}

async function fourNodes(): Promise<{ readonly world: ReplicaWorld; readonly group: GroupId }> {
  const { world, group } = await shopOnThree(4);
  for (const text of ['a', 'b']) await world.answer((await world.leader(group)).transact(group, text));
  return { world, group };
}

describe('a node that is decommissioned (C20, D17)', () => {
  it('gives up its replicas while they are written, is removed, and ends; also the founder of the cluster', async () => {
    const { world, group } = await fourNodes();
    expect(await ask(world, leave(1))).toMatchObject({ kind: 'done', node: { node: 1, state: 'leaving' } });
    expect(await ask(world, leave(1))).toMatchObject({ kind: 'done' });
    const texts = ['a', 'b'];
    for (let at = 0; at < 20; at += 1) {
      const writer = world.up.find(({ node }) => node === 3);
      if (writer === undefined) throw new Error('It stays');
      texts.push(`text ${at}`);
      await world.answer(writer.transact(group, `text ${at}`));
      await world.pass(100);
    }
    await world.until(() => statesOf(world).startsWith('removed'), 'a node that is removed');
    expect(isAt(world, group, [2, 3, 4])).toBe(true);
    await world.until(() => world.failures.length > 0, 'the end of the node');
    expect(world.failures.map(({ message }) => message)).toEqual([
      'Node 1 was removed from its cluster; a node with an empty data directory joins as a new one',
    ]);
    await world.at(FIRST).crash();
    const leader = await world.leader(CATALOG_GROUP);
    const members = (): string => {
      const { voters, learners } = leader.core.membershipOf(CATALOG_GROUP) ?? membershipOf([]);
      return `${voters.incoming.map(nodeOf).toSorted(byNumber).join()} ${learners.map(nodeOf).join()}`;
    };
    await world.until(() => members() === '2,3,4 ', 'a catalog without it');
    expect(await ask(world, leave(1))).toMatchObject({ kind: 'done', node: { state: 'removed' } });
    expect(await ask(world, stay(1))).toMatchObject({ kind: 'faulty', code: 'failed_precondition' });
    expect(await world.answer(leader.core.admin.register(registrationOf(1), false))).toEqual({
      kind: 'removed',
      node: 1,
    });
    for (const member of world.up) {
      await world.answer(member.front.latest(group));
      expect(await member.history(group)).toEqual(texts);
    }
  });

  it('stays when the caller disconnects before the leader of the catalog decides', async () => {
    const world = await joinedWorld(3);
    const { core } = await world.leader(CATALOG_GROUP);
    const caller = new AbortController();
    const [first, second] = [core.admin.order(leave(2)), core.admin.order(leave(3), caller.signal)];
    caller.abort();
    expect(await world.answer(first)).toMatchObject({ kind: 'done' });
    expect(await world.answer(second)).toEqual({ kind: 'later', reason: 'its caller has gone' });
  });

  it('stays when another one is decommissioned at the same time, and one replica would be left', async () => {
    const world = await joinedWorld(3);
    const { core, front } = await world.leader(CATALOG_GROUP);
    await world.answer(front.createDatabase('shop'));
    const [first, second] = await world.answer(Promise.all([core.admin.order(leave(2)), core.admin.order(leave(3))]));
    expect(first).toMatchObject({ kind: 'done', node: { node: 2, state: 'leaving' } });
    expect(second).toMatchObject({ kind: 'faulty', reason: expect.stringMatching(/node 2 leaves already/) });
  });

  it('stays when the leader has not received heartbeats from all others yet, one of which is stopped', async () => {
    const world = await joinedWorld(3);
    const former = await world.leader(CATALOG_GROUP);
    const [kept, gone] = world.up.filter((member) => member !== former);
    if (kept === undefined || gone === undefined) throw new Error('There are three');
    await gone.crash();
    await former.crash();
    await former.start();
    const leader = await world.leader(CATALOG_GROUP);
    const other = leader === kept ? former : kept;
    expect(await ask(world, leave(other.node))).toMatchObject({ kind: 'faulty', code: 'failed_precondition' });
  });
});
