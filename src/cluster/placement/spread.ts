/**
 * How copies are spread over the nodes of a cluster. Pure functions of what the catalog says and who answers, so that
 * the next leader goes on where the last one stopped.
 */
import { type NodeId, nodeOf, replicaOf } from '#base';
import { standingOf } from '#raft';
import type { Group } from '../group/group.ts';
import type { CatalogMachine } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import type { Liveness, NodeView, Placement, PlacementView, SpreadView } from './placement.ts';

/**
 * Places new databases on so many nodes, or on fewer; on this one as long as nobody is registered. Where too few can
 * take one, those who will come back are given one beside them.
 *
 *   C22  Most of the nodes that a new database is placed on can take it at that moment, or they are all who vote in the
 *        catalog, those who leave among them: then most of them have its entry before anybody knows of it. The others
 *        are active, vote in the catalog, and are not lost.
 */
export function spreadOver(copies: number, self: NodeId): Placement {
  return {
    replicas: ({ nodes, loads }) => {
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

/** All who vote in the catalog, if they are as many as a database may be on, and none of them is given up. */
function votersToHold(nodes: readonly NodeView[], copies: number): readonly NodeView[] {
  const voters = nodes.filter(({ isVoter }) => isVoter);
  const isFit = voters.length === copies || (voters.length < copies && voters.length % 2 === 1);
  const isSure = voters.every(({ state, liveness }) => state !== 'removed' && liveness !== 'lost');
  return isFit && isSure ? voters : [];
}

/** A node of which nothing was heard for so long is not expected to be ready in a moment. */
const EXPECTED_MS = 30_000;

/** Whether the node may get what it does not hold yet: it must have been heard of, not only be registered. */
export function canTake({ state, liveness }: NodeView): boolean {
  return state === 'active' && liveness === 'ready';
}

/**
 * Whether the node may get something soon. Nobody goes down to fewer copies or votes because it is restarting, or
 * because a new leader has not heard of it yet.
 */
export function comes(node: NodeView): boolean {
  return node.state === 'active' && node.isExpected && !canTake(node);
}

/** Whether the node is to be waited for: it has been heard of, and had all of the catalog, before it voted there. */
function willTake({ state, liveness, isVoter }: NodeView): boolean {
  return state === 'active' && isVoter && liveness !== 'lost';
}

/** Whether the node counts where it holds something already. */
export function answers({ liveness }: NodeView): boolean {
  return liveness === 'ready' || liveness === 'behind';
}

/**
 * How many voters there are to be, of so many who vote and stay, and so many who could be added. If they cannot be as
 * many as wanted they grow to an odd number, for one more would survive no more failures and stop more often. Whoever
 * votes and may stay is not sent away for that.
 */
export function countFor(wanted: number, { kept, free }: { readonly kept: number; readonly free: number }): number {
  const most = kept + free;
  const odd = most - ((most + 1) % 2);
  return Math.max(kept, most >= wanted ? wanted : odd);
}

/** How many copies each node holds. */
export function loadsOf(bindings: readonly Binding[]): Map<NodeId, number> {
  const loads = new Map<NodeId, number>();
  for (const { replicas } of bindings) {
    for (const replica of replicas) loads.set(nodeOf(replica), (loads.get(nodeOf(replica)) ?? 0) + 1);
  }
  return loads;
}

/** Who needs less to take a copy comes first. */
const RANK: Readonly<Record<Liveness, number>> = { ready: 0, behind: 1, silent: 2, lost: 3 };

/**
 * So many of the candidates, to stand beside those who stay. One after the other: one that is ready; in a zone with the
 * fewest of them; then one that holds the fewest databases; then the lowest number.
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
 * When somebody looks, after how much silence a node is lost, and who says that it is about to end. A node whose
 * address another store has joined at has lost its disk: it is lost as soon as it is silent.
 */
export interface ViewTime {
  readonly nowMs: number;
  readonly replaceAfterMs?: number | undefined;
  readonly isLeaving?: (node: NodeId) => boolean;
}

/** The view of a node; only one that leads the catalog knows who answers. */
export function placementView(catalog: CatalogMachine, group: Group | undefined, time: ViewTime): PlacementView {
  return { nodes: nodeViews(catalog, group, time), bindings: catalog.list() };
}

/** The same for a new database: it costs the same however many there are. */
export function spreadView(catalog: CatalogMachine, group: Group | undefined, time: ViewTime): SpreadView {
  return { nodes: nodeViews(catalog, group, time), loads: catalog.copies };
}

export function nodeViews(catalog: CatalogMachine, group: Group | undefined, time: ViewTime): readonly NodeView[] {
  const voters = new Set(group?.raft.membership.voters.incoming.map(nodeOf));
  const nodes = catalog.nodes();
  return nodes.map((each) => {
    const { node, zone, state } = each;
    const standing = livenessOf(node, group, time);
    const isLost = standing === 'silent' && time.replaceAfterMs !== undefined && isSucceeded(each, nodes);
    const liveness = isLost ? 'lost' : standing;
    const isExpected = liveness !== 'lost' && time.nowMs < heardOf(node, group, time.nowMs) + EXPECTED_MS;
    return { node, zone, state, liveness, isVoter: voters.has(node), isExpected };
  });
}

/** Whether a node that has joined later is at the address of this one. */
function isSucceeded({ node, peer }: RegisteredNode, nodes: readonly RegisteredNode[]): boolean {
  return nodes.some((each) => each.node > node && each.peer.host === peer.host && each.peer.port === peer.port);
}

/** A leader that is new has heard of everybody just now: it waits before it takes anybody for lost. */
function livenessOf(
  node: RegisteredNode['node'],
  group: Group | undefined,
  { nowMs, replaceAfterMs, isLeaving }: ViewTime,
): Liveness {
  // It will be silent in a moment.
  if (isLeaving?.(node) === true) return 'silent';
  if (group === undefined || group.raft.role.kind !== 'leader') return 'silent';
  const standing = standingOf(group.raft, replicaOf(node), nowMs);
  const isLost = replaceAfterMs !== undefined && nowMs >= heardOf(node, group, nowMs) + replaceAfterMs;
  return standing === 'silent' && isLost ? 'lost' : standing;
}

/** When a leader last heard of the node; it counts from its own beginning, and has just met who is no member yet. */
function heardOf(node: RegisteredNode['node'], group: Group | undefined, nowMs: number): number {
  if (group?.raft.role.kind !== 'leader') return nowMs;
  return group.raft.role.peers.get(replicaOf(node))?.heardMs ?? nowMs;
}
