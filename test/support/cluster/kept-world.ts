/**
 * Nodes in one thread that keep the number of copies: they replace lost replicas. Node 1 founds the cluster, and
 * registered nodes join it.
 */
import { CATALOG_GROUP, type GroupId, LEVELS, type NodeId, nodeOf, replicaOf, toNodeId } from '#base';
import { type Binding, type ClusterPorts, type NodeRegistration, spreadOver } from '#cluster';
import { everybody, membershipOf } from '#raft';
import { placeOf } from '../peer-nodes.ts';
import { type Release, ReplicaWorld, type ReplicaWorldOptions, type WorldNode } from './replica-world.ts';

export const FIRST: NodeId = toNodeId(1);
export const REPLACE_AFTER_MS = 60_000;

interface KeptWorldOptions extends ReplicaWorldOptions {
  readonly learners?: readonly number[];
}

export function registrationOf(node: number): NodeRegistration {
  const peer = { host: '127.0.0.1', port: 50_000 + node };
  const said = { name: `node-${node}`, zone: 'a', peer, grpc: '', http: '', levels: LEVELS, isLearner: false };
  return { storeId: placeOf(node).store, ...said };
}

/** Starts `count` processes, of which only node 1 is registered. Some may be learners. */
export async function keptWorld(
  count: number,
  { learners = [], ...options }: KeptWorldOptions = {},
): Promise<ReplicaWorld> {
  const cluster = (_nodes: unknown, node: NodeId): ClusterPorts => ({
    node,
    isLearner: learners.includes(node),
    founders: membershipOf([replicaOf(FIRST)]),
    placement: spreadOver(3, node),
    upkeep: { copies: 3, replaceAfterMs: REPLACE_AFTER_MS },
  });
  const limits = { trashDelayMs: 500, ...options.limits };
  const world = await ReplicaWorld.started(count, { cluster, ...options, limits });
  const levels = options.release?.levels ?? LEVELS;
  await world.answer(world.at(FIRST).core.admin.register({ ...registrationOf(1), levels }, true));
  return world;
}

/** Registers a node with the feature levels of its release. */
export async function register(world: ReplicaWorld, node: number, release?: Release): Promise<unknown> {
  const leader = await world.leader(CATALOG_GROUP);
  const { isLearner = false } = world.portsOf(toNodeId(node));
  const registration = { ...registrationOf(node), levels: release?.levels ?? LEVELS, isLearner };
  return world.answer(leader.core.admin.register(registration, node === leader.node));
}

/** Registers these nodes in order: node 2 is the second registered one. */
export async function join(world: ReplicaWorld, nodes: readonly number[], release?: Release): Promise<void> {
  for (const node of nodes) await register(world, node, release);
}

/** A cluster of `count` nodes of one release, all of which have joined. */
export async function joinedWorld(count: number, options: KeptWorldOptions = {}): Promise<ReplicaWorld> {
  const world = await keptWorld(count, options);
  await join(world, world.nodes.slice(1), options.release);
  await world.pass(3_000);
  return world;
}

/** The same with a database on the first three nodes. */
export async function shopOnThree(
  count: number = 3,
  options: KeptWorldOptions = {},
): Promise<{ readonly world: ReplicaWorld; readonly group: GroupId }> {
  const world = await joinedWorld(count, options);
  const { group } = await world.create();
  await world.until(() => isAt(world, group, [1, 2, 3]), 'a database on three nodes');
  return { world, group };
}

export function bindingOf({ core }: WorldNode, group: GroupId): Binding | undefined {
  return core.catalog.bindings.find((binding) => binding.group === group);
}

/**
 * True when every running node with the database has this placement in its catalog, and its group has these members.
 */
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
