/**
 * How copies are spread over the nodes of a cluster: those of a new database, and the votes of the catalog. Pure functions of
 * what the catalog says, so that the next leader goes on where the last one stopped.
 */
import { CATALOG_GROUP, type NodeId, nodeOf, type ReplicaId, replicaOf } from '#base';
import { standingOf, type Target } from '#raft';
import type { Group } from './group.ts';
import type { CatalogMachine } from './machine.ts';
import type { RegisteredNode } from './outcome.ts';
import type { Placement, PlacementView } from './placement.ts';

/** Voters of the catalog at most. */
const VOTERS_MAX = 5;

/** Places databases on so many nodes, or on as many as there are; on this one as long as nobody is registered. */
export function spreadOver(copies: number, self: NodeId): Placement {
  return {
    replicas: (view) => {
      const chosen = view.nodes.length === 0 ? [self] : choose(view, copies);
      return chosen.map((node) => replicaOf(node));
    },
  };
}

/**
 * One node after the other: first those that answer, then one in a zone with the fewest of the chosen, then one that holds
 * the fewest databases, then the lowest number.
 */
function choose({ nodes, bindings, answering }: PlacementView, copies: number): readonly NodeId[] {
  const load = Map.groupBy(
    bindings.flatMap(({ replicas }) => replicas.map(nodeOf)),
    (node) => node,
  );
  const chosen: RegisteredNode[] = [];
  const rankOf = ({ node, zone }: RegisteredNode): readonly number[] => [
    answering.has(node) ? 0 : 1,
    chosen.filter((each) => each.zone === zone).length,
    load.get(node)?.length ?? 0,
    node,
  ];
  while (chosen.length < Math.min(copies, nodes.length)) {
    const ranked = nodes.filter((each) => !chosen.includes(each)).map((each) => ({ each, rank: rankOf(each) }));
    const [best] = ranked.toSorted((one, other) => compare(one.rank, other.rank));
    if (best !== undefined) chosen.push(best.each);
  }
  return chosen.map(({ node }) => node);
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((rank, place) => rank !== other[place]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/** Every node holds the catalog; the first 1, 3 or 5 vote. Undefined before anybody is registered. */
export function catalogTarget(nodes: readonly RegisteredNode[]): Target | undefined {
  const count = Math.min(VOTERS_MAX, nodes.length - ((nodes.length + 1) % 2));
  const replicas = nodes.map(({ node }): ReplicaId => replicaOf(node));
  return nodes.length === 0 ? undefined : { voters: replicas.slice(0, count), learners: replicas.slice(count) };
}

/** The view of a node; only one that leads the catalog knows who answers. */
export function placementView(
  catalog: CatalogMachine,
  find: (id: Group['id']) => Group | undefined,
  nowMs: number,
): PlacementView {
  const group = find(CATALOG_GROUP);
  const nodes = catalog.nodes();
  const answering = nodes
    .map(({ node }) => node)
    .filter((node) => group?.leads === true && standingOf(group.raft, replicaOf(node), nowMs) !== 'silent');
  return { nodes, bindings: catalog.list(), answering: new Set(answering) };
}
