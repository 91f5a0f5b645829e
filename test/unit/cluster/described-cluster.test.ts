// Goal: each node describes the cluster with the knowledge of the best-informed node that answers, and reports when the
// leader did not confirm it. Method: nodes that answer from their copies of the catalog, one of which is almost empty.
import { describe, expect, it } from 'vitest';
import { type NodeId, toDatabaseId, toGroupId, toLogIndex, toNodeId } from '#base';
import type { AdminReply, AskAdmin, ClusterDescription } from '#cluster';
import { administration } from '../../../src/cluster/admin/administration.ts';

const CLUSTER_ID = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';

interface Known {
  readonly nodes: readonly number[];
  readonly index: number;
  readonly leader?: number;
  readonly hasDiverged?: boolean;
}

type Cluster = ReadonlyMap<NodeId, Known>;

function ownOf(number: number, index: number): NonNullable<ClusterDescription['nodes'][number]['own']> {
  const known = { unapplied: number, diskUsedPercent: 10 * number, components: [], refused: [] };
  return { release: `0.${number}.0`, catalogIndex: toLogIndex(index), ...known };
}

/** The leader of the catalog leads both databases, and sees a lag of node 3. */
function databasesOf(number: number, leader: number | undefined): ClusterDescription['databases'] {
  const members = [
    { node: toNodeId(1), isVoter: true, standing: 'ready', lag: 0 },
    { node: toNodeId(3), isVoter: true, standing: 'ready', lag: 7 },
  ] as const;
  return ['shop', 'orders'].map((name, at) => ({
    name,
    databaseId: toDatabaseId(`0198c0de-0000-7000-8000-00000000000${at + 1}`),
    group: toGroupId(at + 1),
    copies: 0,
    nodes: members.map(({ node }) => node),
    leaving: [],
    isSettled: true,
    leader: number === leader ? toNodeId(number) : undefined,
    members: number === leader ? members.map((each) => ({ ...each, lag: each.lag * (2 - at) })) : [],
    recovery: undefined,
  }));
}

function descriptionOf(cluster: Cluster, number: number): Omit<ClusterDescription, 'clusterId' | 'otherClusters'> {
  const node = toNodeId(number);
  const { nodes, index, leader, hasDiverged } = cluster.get(node) ?? { nodes: [], index: 0 };
  return {
    node,
    catalogLeader: leader === undefined ? undefined : toNodeId(leader),
    catalogIndex: toLogIndex(index),
    isConfirmed: leader === number,
    level: 1,
    nodes: nodes.map((each) => ({
      node: toNodeId(each),
      name: `node-${each}`,
      zone: 'a',
      state: 'active',
      storeId: '',
      peer: { host: '127.0.0.1', port: each },
      grpc: '',
      http: '',
      levels: { min: 1, max: 1 },
      isLearner: false,
      answers: each === number,
      isDraining: false,
      copies: 0,
      movableLeads: 0,
      lag: 0,
      leads: 0,
      catalogRole: 'voter',
      ...(each === number && {
        own: ownOf(each, index),
      }),
    })),
    databases: databasesOf(number, leader),
    diverged: hasDiverged ? [{ node, group: toGroupId(1), title: 'database "shop"', reason: 'the terms differ' }] : [],
  };
}

function saidBy(number: number): ClusterDescription['otherClusters'][number] {
  return { node: toNodeId(number), reason: `node ${number} is dialled` };
}

/** Returns the description by node `by`, when only the nodes in `up` answer. */
async function describedBy(
  by: number,
  parts: Readonly<Record<number, Known>>,
  up: readonly number[] = Object.keys(parts).map(Number),
): Promise<{ readonly cluster: ClusterDescription; readonly asked: readonly number[] }> {
  const cluster: Cluster = new Map(Object.entries(parts).map(([node, known]) => [toNodeId(Number(node)), known]));
  const asked: number[] = [];
  const ask: AskAdmin = async ({ port }, { isPassedOn }): Promise<AdminReply> => {
    asked.push(port);
    if (!isPassedOn || !up.includes(port)) return { kind: 'later', reason: 'it does not answer' };
    return {
      kind: 'described',
      cluster: { ...descriptionOf(cluster, port), clusterId: CLUSTER_ID, otherClusters: [saidBy(port)] },
    };
  };
  const nothing = (): never => {
    throw new Error('nobody asks for that');
  };
  const core = {
    admin: { order: nothing, copyOf: nothing, recover: nothing, describe: () => descriptionOf(cluster, by) },
    requestStop: nothing,
    drainInPlace: nothing,
    undrain: nothing,
  };
  const answer = administration({ core: () => core, ask, otherCluster: () => saidBy(by).reason }, CLUSTER_ID);
  const reply = await answer({ order: { kind: 'describe' }, isPassedOn: false });
  if (reply.kind !== 'described') throw new Error(`It describes, and does not say ${reply.kind}`);
  return { cluster: reply.cluster, asked };
}

const numbersOf = ({ nodes }: ClusterDescription): readonly number[] => nodes.map(({ node }) => node);

describe('a node that describes the cluster', () => {
  it('has the catalog of its leader, and asks the nodes that it names', async () => {
    const known = { nodes: [1, 2, 3], index: 9, leader: 1 };
    const { cluster, asked } = await describedBy(3, { 1: known, 2: known, 3: { nodes: [1], index: 1 } });
    expect(cluster).toMatchObject({ node: 3, catalogLeader: 1, catalogIndex: 9, isConfirmed: true });
    expect(cluster.nodes.map(({ node, answers }) => [node, answers])).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ]);
    expect(asked).toEqual([1, 2]);
    expect(cluster.otherClusters).toEqual([saidBy(3), saidBy(1), saidBy(2)]);
  });

  it('has the data of each node from the node itself, and its lag from the leaders', async () => {
    const known = { nodes: [1, 2, 3], index: 9, leader: 1 };
    const { cluster } = await describedBy(2, { 1: known, 2: known, 3: { ...known, index: 4 } }, [1, 3]);
    expect(cluster.nodes.map(({ lag, own }) => ({ lag, own }))).toEqual([
      { lag: 0, own: ownOf(1, 9) },
      { lag: 0, own: ownOf(2, 9) },
      { lag: 14, own: ownOf(3, 4) },
    ]);
    const without = await describedBy(2, { 1: known, 2: known, 3: known }, [1]);
    expect(without.cluster.nodes[2]).toMatchObject({ answers: false, lag: 14 });
    expect(without.cluster.nodes[2]?.own).toBeUndefined();
  });

  it('reports when the leader did not answer, with the best catalog of the others', async () => {
    const parts = {
      1: { nodes: [1, 2, 3, 4], index: 12, leader: 1 },
      2: { nodes: [1, 2, 3], index: 9, leader: 1 },
      3: { nodes: [1, 2], index: 4, leader: 1 },
    };
    const { cluster } = await describedBy(3, parts, [2]);
    expect(cluster).toMatchObject({ node: 3, catalogLeader: 1, catalogIndex: 9, isConfirmed: false });
    expect(numbersOf(cluster)).toEqual([1, 2, 3]);
  });

  it('marks a member that reports a diverged replica, when its leader does not know it', async () => {
    const known = { nodes: [1, 2, 3], index: 9, leader: 1 };
    const { cluster } = await describedBy(2, { 1: known, 2: known, 3: { ...known, hasDiverged: true } });
    const [shop, orders] = cluster.databases;
    expect(shop?.members.map(({ standing }) => standing)).toEqual(['ready', 'diverged']);
    expect(orders?.members.map(({ standing }) => standing)).toEqual(['ready', 'ready']);
  });

  it('follows the later leader when two nodes believe to lead', async () => {
    const parts = {
      1: { nodes: [1, 2], index: 9, leader: 1 },
      2: { nodes: [1, 2, 3], index: 12, leader: 2 },
      3: { nodes: [1, 2, 3], index: 15, leader: 2 },
    };
    const { cluster } = await describedBy(1, parts);
    expect(cluster).toMatchObject({ node: 1, catalogLeader: 2, catalogIndex: 12 });
  });

  it('names no node just after it has joined, while its catalog is empty', async () => {
    const { cluster, asked } = await describedBy(3, { 3: { nodes: [], index: 0 } });
    expect(cluster).toMatchObject({ node: 3, nodes: [], isConfirmed: false });
    expect(cluster.catalogLeader).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
