/** Nodes in one thread whose copies are kept: node 1 begins the cluster, and whoever is registered joins it. */
import { CATALOG_GROUP, type GroupId, LEVELS, type NodeId, nodeOf, replicaOf, toNodeId } from '#base';
import { type Binding, type ClusterPorts, type NodeRegistration, spreadOver } from '#cluster';
import { everybody, membershipOf } from '#raft';
import { placeOf } from '../peer-nodes.ts';
import { ReplicaWorld, type ReplicaWorldOptions, type WorldNode } from './replica-world.ts';

export const FIRST: NodeId = toNodeId(1);
export const REPLACE_AFTER_MS = 60_000;

export function registrationOf(node: number, zone = 'a'): NodeRegistration {
  const peer = { host: '127.0.0.1', port: 50_000 + node };
  return { storeId: placeOf(node).store, name: `node-${node}`, zone, peer, grpc: '', http: '', levels: LEVELS };
}

/** So many processes; only node 1 is registered. */
export async function keptWorld(count: number, options: ReplicaWorldOptions = {}): Promise<ReplicaWorld> {
  const cluster = (_nodes: unknown, node: NodeId): ClusterPorts => ({
    node,
    founders: membershipOf([replicaOf(FIRST)]),
    placement: spreadOver(3, node),
    upkeep: { copies: 3, replaceAfterMs: REPLACE_AFTER_MS },
    wanted: () => undefined,
  });
  const limits = { trashDelayMs: 500, ...options.limits };
  const world = await ReplicaWorld.started(count, { cluster, ...options, limits });
  await world.answer(world.at(FIRST).core.register(registrationOf(1), true));
  return world;
}

/** Registers these nodes, in their order: node 2 is the second that was registered. */
export async function join(world: ReplicaWorld, nodes: readonly number[], zones = ''): Promise<void> {
  for (const node of nodes) {
    const leader = await world.leader(CATALOG_GROUP);
    await world.answer(leader.core.register(registrationOf(node, zones[node - 1]), node === leader.node));
  }
}

export function bindingOf({ core }: WorldNode, group: GroupId): Binding | undefined {
  return core.catalog.bindings.find((binding) => binding.group === group);
}

/** Whether every node that runs and holds a database knows it at these nodes, and its group consists of them. */
export function isAt(world: ReplicaWorld, group: GroupId, nodes: readonly number[]): boolean {
  const wanted = nodes.toSorted((one, other) => one - other).join();
  const isThere = (member: WorldNode): boolean => {
    const binding = bindingOf(member, group);
    return binding?.isSettled === true && sorted(binding.replicas) === wanted;
  };
  const leader = world.leaderOf(group);
  const membership = leader?.core.membershipOf(group);
  const holders = world.up.filter(({ node }) => nodes.includes(node));
  return holders.every(isThere) && membership !== undefined && sorted(everybody(membership)) === wanted;
}

function sorted(replicas: Binding['replicas']): string {
  return replicas
    .map(nodeOf)
    .toSorted((one, other) => one - other)
    .join();
}
