/**
 * Spreads replicas over the nodes of a cluster. Pure functions of the catalog and of the nodes that answer, so that the
 * next leader continues where the last one stopped.
 */
import { type NodeId, nodeOf, replicaOf } from '#base';
import { mayVote } from '#database';
import { memberStateOf } from '#raft';
import type { Group } from '../group/group.ts';
import type { CatalogMachine } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import type { Liveness, NodeView, Placement } from './placement.ts';

/**
 * Places new databases on as many nodes as they ask for, by default the usual number, or on fewer; on this one as long
 * as none is registered. If too few nodes can take a replica, nodes that will be back are added.
 *
 *   C22  Most of the nodes of a new database can take it at that moment, or they are all voters of the
 *        catalog, including leaving ones: then most of them have its entry before a client knows of it. The others
 *        are active, vote in the catalog, and are not lost.
 */
export function spreadOver(usual: number, self: NodeId): Placement {
  return {
    replicas: ({ nodes, loads }, asked) => {
      const copies = asked || usual;
      const takers = nodes.filter(canTake);
      const late = nodes.filter((each) => willTake(each) && !takers.includes(each));
      const free = takers.length + Math.min(late.length, Math.max(0, takers.length - 1));
      const chosen = choose([...takers, ...late], [], countFor(copies, { kept: 0, free }), loads);
      const voters = votersToHold(nodes, copies);
      const holders = voters.length > chosen.length ? voters : chosen;
      return holders.length === 0 ? [replicaOf(self)] : holders.map(({ node }) => replicaOf(node));
    },
  };
}

/** All voters of the catalog, if they are as many as a database may have and none of them is lost. */
function votersToHold(nodes: readonly NodeView[], copies: number): readonly NodeView[] {
  const voters = nodes.filter(({ isVoter }) => isVoter);
  const isFit = voters.length === copies || (voters.length < copies && voters.length % 2 === 1);
  const isSure = voters.every(({ state, liveness }) => state !== 'removed' && liveness !== 'lost');
  return isFit && isSure ? voters : [];
}

/** A node without a message for so long is not expected to be ready soon. */
const EXPECTED_MS = 30_000;

/** Returns whether the node may get a new replica with a vote: it must have sent a message, not only be registered. */
export function canTake({ liveness, ...node }: NodeView): boolean {
  return mayVote(node) && liveness === 'ready';
}

/**
 * Returns whether the node may get a replica soon. No database goes down to fewer replicas or votes because a node
 * restarts, or because a new leader has not received a message from it yet.
 */
export function comes(node: NodeView): boolean {
  return mayVote(node) && node.isExpected && !canTake(node);
}

/** Returns whether to wait for the node: it has sent a message, and had all of the catalog before it voted there. */
function willTake({ state, liveness, isVoter }: NodeView): boolean {
  return state === 'active' && isVoter && liveness !== 'lost';
}

/** Returns whether the node counts for replicas that it already has. */
export function answers({ liveness }: NodeView): boolean {
  return liveness === 'ready' || liveness === 'behind';
}

/**
 * The number of voters, from the voters that stay and the nodes that could be added. Below the wanted number it is odd,
 * because one more would not survive more failures and would stop more often. A voter that may stay is not removed for
 * that.
 */
export function countFor(wanted: number, { kept, free }: { readonly kept: number; readonly free: number }): number {
  const most = kept + free;
  const odd = most - ((most + 1) % 2);
  return Math.max(kept, most >= wanted ? wanted : odd);
}

/** Number of replicas per node. */
export function loadsOf(bindings: readonly Binding[]): Map<NodeId, number> {
  const loads = new Map<NodeId, number>();
  for (const { replicas } of bindings) {
    for (const replica of replicas) loads.set(nodeOf(replica), (loads.get(nodeOf(replica)) ?? 0) + 1);
  }
  return loads;
}

/** Nodes that need less time to take a replica come first. */
const RANK: Readonly<Record<Liveness, number>> = { ready: 0, behind: 1, silent: 2, lost: 3 };

/**
 * Chooses so many of the candidates, in addition to the staying ones: first by readiness, then by a zone with the
 * fewest of them, then by the fewest databases, then by the lowest number.
 */
export function choose(
  candidates: readonly NodeView[],
  staying: readonly NodeView[],
  count: number,
  loads: ReadonlyMap<NodeId, number>,
): readonly NodeView[] {
  const chosen: NodeView[] = [];
  const rankOf = ({ node, zone, liveness }: NodeView): readonly number[] => [
    RANK[liveness],
    [...staying, ...chosen].filter((each) => each.zone === zone).length,
    loads.get(node) ?? 0,
    node,
  ];
  while (chosen.length < Math.min(count, candidates.length)) {
    const ranked = candidates.filter((each) => !chosen.includes(each)).map((each) => ({ each, rank: rankOf(each) }));
    const [best] = ranked.toSorted((one, other) => compare(one.rank, other.rank));
    if (best !== undefined) chosen.push(best.each);
  }
  return chosen;
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((rank, place) => rank !== other[place]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/**
 * Time of the check, the silence after which a node is lost, and draining nodes. A node whose address another store has
 * joined with has lost its disk: it is lost as soon as it is silent.
 */
export interface ViewTime {
  readonly nowMs: number;
  readonly replaceAfterMs?: number | undefined;
  readonly isLeaving?: (node: NodeId) => boolean;
}

/** The view of the nodes; only the leader of the catalog knows which of them answer. */
export function nodeViews(catalog: CatalogMachine, group: Group | undefined, time: ViewTime): readonly NodeView[] {
  const voters = new Set(group?.raft.membership.voters.incoming.map(nodeOf));
  const nodes = catalog.nodes();
  return nodes.map((each) => {
    const { node, zone, state, isLearner } = each;
    const known = livenessOf(node, group, time);
    const isLost = known === 'silent' && time.replaceAfterMs !== undefined && isSucceeded(each, nodes);
    const liveness = isLost ? 'lost' : known;
    const isExpected = liveness !== 'lost' && time.nowMs < heardOf(node, group, time.nowMs) + EXPECTED_MS;
    return { node, zone, state, isLearner, liveness, isVoter: voters.has(node), isExpected };
  });
}

/** Returns whether a node that has joined later has the address of this one. */
function isSucceeded({ node, peer }: RegisteredNode, nodes: readonly RegisteredNode[]): boolean {
  return nodes.some((each) => each.node > node && each.peer.host === peer.host && each.peer.port === peer.port);
}

/** A new leader assumes a recent message from every node: it waits before a node counts as lost. */
function livenessOf(
  node: RegisteredNode['node'],
  group: Group | undefined,
  { nowMs, replaceAfterMs, isLeaving }: ViewTime,
): Liveness {
  // It will be silent soon.
  if (isLeaving?.(node) === true) return 'silent';
  if (group === undefined || group.raft.role.kind !== 'leader') return 'silent';
  const known = memberStateOf(group.raft, replicaOf(node), nowMs);
  const isLost = replaceAfterMs !== undefined && nowMs >= heardOf(node, group, nowMs) + replaceAfterMs;
  return known === 'silent' && isLost ? 'lost' : known;
}

/**
 * Time of a node's last message to the leader; at the latest the start of the leadership, and now for a node that is
 * not a member yet.
 */
function heardOf(node: RegisteredNode['node'], group: Group | undefined, nowMs: number): number {
  if (group?.raft.role.kind !== 'leader') return nowMs;
  return group.raft.role.peers.get(replicaOf(node))?.heardMs ?? nowMs;
}
