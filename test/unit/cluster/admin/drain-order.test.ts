// Goal: a node may be drained only when every group keeps a quorum (C36), also with two concurrent requests, and any
// node forwards the request to it. Method: tables of descriptions; nodes that answer like real ones.
import { describe, expect, it } from 'vitest';
import { type Address, CATALOG_GROUP, toDatabaseId, toGroupId, toLogIndex, toNodeId } from '#base';
import type { AdminReply, AdminRequest, ClusterDescription } from '#cluster';
import { administration } from '../../../../src/cluster/admin/administration.ts';
import { faultInDraining } from '../../../../src/cluster/admin/drain-order.ts';

const CLUSTER_ID = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';

interface Parts {
  readonly by?: number;
  readonly isConfirmed?: boolean;
  readonly nodes?: readonly number[];
  readonly voters?: readonly number[];
  readonly down?: readonly number[];
  readonly draining?: readonly number[];
  readonly removed?: readonly number[];
  /** Nodes with a replica of the database, those of them that are silent, and whether a leader is known. */
  readonly holders?: readonly number[];
  readonly silent?: readonly number[];
  /** Nodes whose replica of the database, or of the catalog, has another history. */
  readonly diverged?: readonly number[];
  readonly divergedCatalogs?: readonly number[];
  readonly isLed?: boolean;
}

function described(parts: Parts): ClusterDescription {
  const {
    by = 1,
    isConfirmed = true,
    nodes = [1, 2, 3],
    voters = nodes,
    down = [],
    draining = [],
    removed = [],
  } = parts;
  const { holders = [1, 2, 3], silent = [], diverged = [], divergedCatalogs = [], isLed = true } = parts;
  const standings = { ...standingAll(diverged, 'diverged'), ...standingAll(silent, 'silent') };
  return {
    clusterId: CLUSTER_ID,
    node: toNodeId(by),
    catalogLeader: toNodeId(1),
    catalogIndex: toLogIndex(9),
    isConfirmed,
    level: 1,
    nodes: nodes.map((each) => ({
      node: toNodeId(each),
      name: `node-${each}`,
      zone: 'a',
      state: removed.includes(each) ? 'removed' : 'active',
      storeId: '',
      peer: { host: '127.0.0.1', port: each },
      grpc: '',
      http: '',
      levels: { min: 1, max: 1 },
      isLearner: false,
      answers: !down.includes(each),
      isDraining: draining.includes(each),
      copies: 1,
      leads: 0,
      movableLeads: 0,
      lag: 0,
      catalogRole: voters.includes(each) ? 'voter' : 'learner',
    })),
    diverged: divergedCatalogs.map((each) => ({
      node: toNodeId(each),
      group: CATALOG_GROUP,
      title: 'catalog',
      reason: '',
    })),
    otherClusters: [],
    databases: [
      {
        name: 'shop',
        databaseId: toDatabaseId('0198c0de-0000-7000-8000-000000000001'),
        group: toGroupId(1),
        copies: 0,
        nodes: holders.map(toNodeId),
        leaving: [],
        isSettled: true,
        leader: isLed ? toNodeId(1) : undefined,
        members: (isLed ? holders : []).map((each) => ({
          node: toNodeId(each),
          isVoter: true,
          standing: standings[each] ?? 'ready',
          lag: 0,
        })),
        recovery: undefined,
      },
    ],
  };
}

type Standing = ClusterDescription['databases'][number]['members'][number]['standing'];

function standingAll(nodes: readonly number[], standing: Standing): Readonly<Record<number, Standing>> {
  return Object.fromEntries(nodes.map((node) => [node, standing]));
}

const FIVE = { nodes: [1, 2, 3, 4, 5], voters: [1, 2, 3, 4, 5] };

describe('a drain of a node (C36)', () => {
  it.each<[string, number, Parts]>([
    ['all answer', 3, {}],
    ['it leads the catalog', 1, {}],
    ['it drains already, and too few are left', 3, { draining: [3], down: [2] }],
    ['another is stopped, and they share no database', 4, { ...FIVE, down: [5], holders: [1, 2, 3] }],
    ['it has one of five replicas, and another node is stopped', 4, { ...FIVE, down: [5], holders: [1, 2, 3, 4, 5] }],
    ['a database without a leader has no replica on it', 3, { holders: [1, 2], isLed: false }],
  ])('may drain when %s', (_name, node, parts) => {
    expect(faultInDraining(toNodeId(node), described(parts))).toBeUndefined();
  });

  const stay = (nodes: string): string => `without node 3 these stay: ${nodes}`;
  const stopsCatalog = (nodes: string): string =>
    `the catalog, in which 1, 2, 3 vote, would have no quorum; ${stay(nodes)}`;
  const stopsShop = (on: string): string => `there would be no quorum of shop (on ${on}); ${stay('1, 2')}`;
  const TWO = { voters: [1, 2] };
  it.each<[string, Parts, string, string?]>([
    ['is not there', { nodes: [1, 2] }, 'there is no node 3; the cluster has 1, 2', 'not_found'],
    ['was removed', { removed: [3] }, 'node 3 was removed permanently', 'not_found'],
    ['leaves no quorum of the catalog', { down: [2] }, stopsCatalog('1')],
    ['leaves none while another one drains', { draining: [2] }, stopsCatalog('1')],
    ['leaves none of a database', { ...TWO, silent: [2] }, stopsShop('1, 2, 3')],
    ['leaves none of a database when a replica diverged', { ...TWO, diverged: [2] }, stopsShop('1, 2, 3')],
    ['leaves none when a catalog diverged', { holders: [1, 2], divergedCatalogs: [2] }, stopsCatalog('1, 2')],
    ['has the only replica of one', { ...TWO, holders: [3] }, stopsShop('3')],
    ['has a replica of one without a leader', { ...TWO, isLed: false }, stopsShop('1, 2, 3')],
  ])('must not drain when it %s', (_name, parts, reason, code = 'failed_precondition') => {
    expect(faultInDraining(toNodeId(3), described(parts))).toEqual({ kind: 'faulty', code, reason });
  });

  it.each<[string, Parts, string]>([
    ['the leader of the catalog does not answer', { isConfirmed: false }, 'the leader of the catalog did not answer'],
    ['it does not answer', { down: [3] }, 'node 3 does not answer: it has ended, or cannot be reached'],
  ])('may be requested again when %s', (_name, parts, reason) => {
    expect(faultInDraining(toNodeId(3), described(parts))).toEqual({ kind: 'later', reason });
  });
});

type Ordered = Extract<AdminRequest['order'], { readonly kind: 'drain' | 'undrain' }>;

interface Three {
  /** Nodes that drain to end, and nodes that drain and stay. */
  readonly told: number[];
  readonly staying: Set<number>;
  readonly ask: (at: number, node: number, order?: Partial<Ordered>) => Promise<AdminReply>;
}

function three(): Three {
  const told: number[] = [];
  const staying = new Set<number>();
  const nodes = new Map(
    [1, 2, 3].map((by) => {
      const never = (): never => {
        throw new Error('nobody asks for that');
      };
      const core = {
        admin: {
          order: never,
          copyOf: never,
          recover: never,
          // Description of each node before it has asked the others.
          describe: () => {
            const whole = described({ by, draining: [...told, ...staying] });
            return { ...whole, isConfirmed: by === 1, databases: by === 1 ? whole.databases : [] };
          },
        },
        requestStop: () => void told.push(by),
        drainInPlace: () => void staying.add(by),
        undrain: () => {
          staying.delete(by);
          return !told.includes(by);
        },
      };
      return [by, administration({ core: () => core, ask }, CLUSTER_ID)] as const;
    }),
  );
  async function ask({ port }: Pick<Address, 'port'>, request: AdminRequest): Promise<AdminReply> {
    return (await nodes.get(port)?.(request)) ?? { kind: 'later', reason: 'nobody is there' };
  }
  const drain = { kind: 'drain', isGranted: false, stays: false, isDryRun: false } as const;
  return {
    told,
    staying,
    ask: (at, node, order) => {
      const asked = { ...drain, ...order, node: toNodeId(node) } as Ordered;
      return ask({ port: at }, { order: asked, isPassedOn: false });
    },
  };
}

it.each([
  [1, 3],
  [2, 3],
  [3, 3],
  [2, 1],
  [1, 1],
])('a request to drain sent to node %i reaches node %i after the checks', async (at, node) => {
  const { told, ask } = three();
  expect(await ask(at, node)).toMatchObject({ kind: 'done', node: { node } });
  expect(told).toEqual([node]);
  expect(await ask(at, node)).toMatchObject({ kind: 'done', node: { node } });
});

it('a request to drain is rejected for a second node while the first one drains, also for concurrent requests', async () => {
  const { told, ask } = three();
  const replies = await Promise.all([ask(2, 3), ask(3, 2)]);
  expect(replies.map(({ kind }) => kind).toSorted()).toEqual(['done', 'faulty']);
  expect(told).toHaveLength(1);
});

it.each([
  [1, 3],
  [2, 3],
  [2, 2],
])('a drain that stays and its end, sent to node %i, reach node %i, and can be repeated', async (at, node) => {
  const { told, staying, ask } = three();
  for (let times = 0; times < 2; times += 1) {
    expect(await ask(at, node, { stays: true })).toMatchObject({ kind: 'done', node: { node, isDraining: true } });
    expect([...staying]).toEqual([node]);
  }
  for (let times = 0; times < 2; times += 1) {
    expect(await ask(at, node, { kind: 'undrain' })).toMatchObject({ kind: 'done', node: { node, isDraining: false } });
    expect([...staying, ...told]).toEqual([]);
  }
});

it('a dry run of a drain has the same checks, and drains nothing', async () => {
  const { told, staying, ask } = three();
  expect(await ask(2, 3, { isDryRun: true })).toMatchObject({ kind: 'done', node: { node: 3, isDraining: false } });
  expect(await ask(3, 9, { isDryRun: true })).toMatchObject({ kind: 'faulty', code: 'not_found' });
  await ask(2, 3, { stays: true });
  expect(await ask(3, 2, { isDryRun: true })).toMatchObject({ kind: 'faulty', code: 'failed_precondition' });
  expect([...staying, ...told]).toEqual([3]);
});

it('the end of a drain is rejected for a node that is about to end, and for an unknown node', async () => {
  const { ask } = three();
  await ask(1, 3);
  const ends = { kind: 'faulty', code: 'failed_precondition', reason: 'node 3 is about to end; start it again' };
  expect(await ask(2, 3, { kind: 'undrain' })).toEqual(ends);
  expect(await ask(2, 9, { kind: 'undrain' })).toMatchObject({ kind: 'faulty', code: 'not_found' });
});
