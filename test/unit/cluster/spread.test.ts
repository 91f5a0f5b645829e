// Goal: copies go to nodes that answer, in different zones, where there is least; the same whoever decides; and of the
// catalog every node has a copy, an odd number of them with a vote. Method: tables, a property, nodes over a network in memory.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, nodeOf, replicaOf, toDatabaseId, toGroupId, toNodeId } from '#base';
import {
  type Binding,
  type ClusterPorts,
  catalogTarget,
  type PlacementView,
  type RegisteredNode,
  spreadOver,
} from '#cluster';
import { everybody, membershipOf } from '#raft';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import { ReplicaWorld } from '../../support/cluster/replica-world.ts';
import { placeOf } from '../../support/peer-nodes.ts';

function nodeAt(node: number, zone: string): RegisteredNode {
  const peer = { host: '127.0.0.1', port: node };
  return {
    node: toNodeId(node),
    state: 'joined',
    storeId: placeOf(node).store,
    name: '',
    zone,
    peer,
    grpc: '',
    http: '',
  };
}

function bindingOn(group: number, nodes: readonly number[]): Binding {
  const replicas = nodes.map((node) => replicaOf(toNodeId(node)));
  const databaseId = toDatabaseId(`0198c0de-0000-7000-8000-${String(group).padStart(12, '0')}`);
  const held = { replicas, leaving: [], founders: replicas, placement: 0 };
  return { name: `db-${group}`, databaseId, group: toGroupId(group), createdAtMs: 0, ...held };
}

interface Layout {
  /** The zone of each node, from node 1 on. */
  readonly zones: string;
  /** Which nodes hold each database. */
  readonly held?: readonly (readonly number[])[];
  readonly silent?: readonly number[];
}

function viewOf({ zones, held = [], silent = [] }: Layout): PlacementView {
  const nodes = zones.split('').map((zone, at) => nodeAt(at + 1, zone));
  const answering = nodes.map(({ node }) => node).filter((node) => !silent.includes(node));
  return { nodes, bindings: held.map((each, at) => bindingOn(at + 1, each)), answering: new Set(answering) };
}

function placed(copies: number, layout: Layout): readonly number[] {
  return spreadOver(copies, toNodeId(1)).replicas(viewOf(layout)).map(nodeOf);
}

describe('a new database', () => {
  it.each<[string, number, Layout, readonly number[]]>([
    ['on this node before anybody is registered', 3, { zones: '' }, [1]],
    ['on as many nodes as there are', 3, { zones: 'aa' }, [1, 2]],
    ['in zones of their own', 3, { zones: 'aaabc' }, [1, 4, 5]],
    ['in as many zones as there are', 3, { zones: 'aaab' }, [1, 4, 2]],
    ['where there is least', 2, { zones: 'aaaa', held: [[1, 2], [1], [3]] }, [4, 2]],
    ['in another zone rather than where there is least', 2, { zones: 'aab', held: [[3], [3]] }, [1, 3]],
    ['on nodes that answer rather than in zones of their own', 2, { zones: 'aab', silent: [3] }, [1, 2]],
    ['on silent nodes rather than on too few', 3, { zones: 'abc', silent: [2, 3] }, [1, 2, 3]],
    ['once, if so wanted', 1, { zones: 'ab', held: [[1]] }, [2]],
  ])('is placed %s', (_name, copies, layout, nodes) => {
    expect(placed(copies, layout)).toEqual(nodes);
  });

  it('is placed evenly: of nodes of one zone none holds two databases more than another', () => {
    const property = fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5 }), (count, copies) => {
      const held: (readonly number[])[] = [];
      for (let database = 0; database < 20; database++) held.push(placed(copies, { zones: 'a'.repeat(count), held }));
      const loads = Array.from({ length: count }, (_, at) => held.flat().filter((node) => node === at + 1).length);
      expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
      for (const nodes of held) expect(new Set(nodes).size).toBe(Math.min(copies, count));
    });
    expect(() => fc.assert(property, { numRuns: 50 })).not.toThrow();
  });
});

describe('the catalog', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 3],
    [4, 3],
    [5, 5],
    [8, 5],
  ])('of %i nodes has %i voters, the first', (count, voters) => {
    const { nodes } = viewOf({ zones: 'a'.repeat(count) });
    const replicas = nodes.map(({ node }) => replicaOf(node));
    expect(catalogTarget(nodes)).toEqual({ voters: replicas.slice(0, voters), learners: replicas.slice(voters) });
  });

  it('is what nobody wants otherwise before the first node is registered', () => {
    expect(catalogTarget([])).toBeUndefined();
  });

  it('is held by every node that joins, and outlives the one that began the cluster', async () => {
    const founders = membershipOf([replicaOf(toNodeId(1))]);
    const catalogs = new Map<number, () => readonly RegisteredNode[]>();
    const cluster = (_nodes: unknown, node: RegisteredNode['node']): ClusterPorts => ({
      node,
      founders,
      placement: spreadOver(3, node),
      wanted: (group) => (group === CATALOG_GROUP ? catalogTarget(catalogs.get(node)?.() ?? []) : undefined),
    });
    const world = await ReplicaWorld.started(4, { kit: databaseKit, cluster });
    for (const { node, core } of world.up) catalogs.set(node, () => core.catalog.nodes);
    const first = world.at(toNodeId(1));
    for (const node of world.nodes) await world.answer(first.core.register(nodeAt(node, `zone-${node}`), node === 1));
    const everyone = world.nodes.map((node) => replicaOf(node));
    const target = membershipOf(everyone.slice(0, 3), everyone.slice(3));
    await world.until(
      () =>
        world.up.every(
          ({ core }) => String(everybody(core.membershipOf(CATALOG_GROUP) ?? founders)) === String(everyone),
        ),
      'a catalog that everybody holds',
    );
    await world.until(
      () => world.up.every(({ core }) => core.catalog.nodes.length === 4),
      'a catalog that everybody has',
    );
    await world.pass(1_000);
    for (const { core } of world.up) expect(core.membershipOf(CATALOG_GROUP)).toEqual(target);
    const created = await world.answer(world.at(toNodeId(2)).front.createDatabase('shop'));
    expect(created.binding.replicas.map(nodeOf)).toEqual([1, 2, 3]);

    await first.crash();
    const next = await world.leader(CATALOG_GROUP);
    // A new leader thinks well of everybody until they have had time to answer.
    await world.pass(6_000);
    const other = await world.answer(next.front.createDatabase('other'));
    expect(other.binding.replicas.map(nodeOf)).toEqual([4, 2, 3]);
    expect(world.failures).toEqual([]);
  });
});
