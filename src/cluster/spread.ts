/**
 * How copies are spread over the nodes of a cluster. Pure functions of what the catalog says and who answers, so that the
 * next leader goes on where the last one stopped.
 */
import { type NodeId, nodeOf, replicaOf } from '#base';
import { standingOf } from '#raft';
import type { Group } from './group.ts';
import type { CatalogMachine } from './machine.ts';
import type { Binding, RegisteredNode } from './outcome.ts';
import type { Liveness, NodeView, Placement, PlacementView } from './placement.ts';

/** Places databases on so many nodes that answer, or on fewer; on this one as long as nobody is registered. */
export function spreadOver(copies: number, self: NodeId): Placement {
  return {
    replicas: ({ nodes, bindings }) => {
      const takers = nodes.filter(canTake);
      const chosen = choose(takers, [], countFor(copies, { kept: 0, free: takers.length }), loadsOf(bindings));
      return chosen.length === 0 ? [replicaOf(self)] : chosen.map(({ node }) => replicaOf(node));
    },
  };
}

/** Whether the node may get what it does not hold yet: it must have been heard of, not only be registered. */
export function canTake({ state, liveness }: NodeView): boolean {
  return state === 'active' && liveness === 'ready';
}

/** Whether the node counts where it holds something already. */
export function answers({ liveness }: NodeView): boolean {
  return liveness === 'ready' || liveness === 'behind';
}

/**
 * How many voters there are to be, of so many who vote and stay, and so many who could be added. If they cannot be as many
 * as wanted they grow to an odd number, for one more would survive no more failures and stop more often. Whoever votes and
 * may stay is not sent away for that.
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

/**
 * So many of the candidates, to stand beside those who stay. One after the other: in a zone with the fewest of them, then
 * one that holds the fewest databases, then the lowest number.
 */
export function choose(
  candidates: readonly NodeView[],
  staying: readonly NodeView[],
  count: number,
  loads: ReadonlyMap<NodeId, number>,
): readonly NodeView[] {
  const chosen: NodeView[] = [];
  const rankOf = ({ node, zone }: NodeView): readonly number[] => [
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

/** The view of a node; only one that leads the catalog knows who answers. */
export function placementView(
  catalog: CatalogMachine,
  group: Group | undefined,
  time: { readonly nowMs: number; readonly replaceAfterMs?: number | undefined },
): PlacementView {
  const nodes = catalog.nodes().map(({ node, zone, state }) => {
    return { node, zone, state, liveness: livenessOf(node, group, time) };
  });
  return { nodes, bindings: catalog.list() };
}

/** A leader that is new has heard of everybody just now: it waits before it takes anybody for lost. */
function livenessOf(
  node: RegisteredNode['node'],
  group: Group | undefined,
  { nowMs, replaceAfterMs }: { readonly nowMs: number; readonly replaceAfterMs?: number | undefined },
): Liveness {
  if (group === undefined || group.raft.role.kind !== 'leader') return 'silent';
  const standing = standingOf(group.raft, replicaOf(node), nowMs);
  const heardMs = group.raft.role.peers.get(replicaOf(node))?.heardMs;
  const isLost = replaceAfterMs !== undefined && heardMs !== undefined && nowMs >= heardMs + replaceAfterMs;
  return standing === 'silent' && isLost ? 'lost' : standing;
}
