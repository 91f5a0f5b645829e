/** Short descriptions of clusters for tests of the placement planners, and the views that planners get. */
import { nodeOf, replicaOf, toDatabaseId, toGroupId, toNodeId } from '#base';
import type { Binding, Liveness, NodeView, PlacementView } from '#cluster';

export interface Layout {
  /** The zone of each node, starting with node 1. */
  readonly zones: string;
  /** Nodes of each database, one digit per node, and the number of replicas that it asks for, if any: `123 12:5`. */
  readonly held?: string;
  readonly behind?: readonly number[];
  readonly silent?: readonly number[];
  readonly lost?: readonly number[];
  readonly leaving?: readonly number[];
  readonly removed?: readonly number[];
  /** Nodes that were recently up, or may have been. */
  readonly expected?: readonly number[];
  /** Nodes that do not vote in the catalog. */
  readonly learners?: readonly number[];
  /** Nodes that never vote. */
  readonly pool?: readonly number[];
}

export function bindingOn(group: number, nodes: readonly number[], copies: number = 0): Binding {
  const replicas = nodes.map((node) => replicaOf(toNodeId(node)));
  const databaseId = toDatabaseId(`0198c0de-0000-7000-8000-${String(group).padStart(12, '0')}`);
  const held = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true, copies };
  return { name: `db-${group}`, databaseId, group: toGroupId(group), createdAtMs: 0, ...held };
}

export function nodesOf({ zones, ...sets }: Layout): readonly NodeView[] {
  return zones.split('').map((zone, at) => {
    const node = toNodeId(at + 1);
    const liveness = (['behind', 'silent', 'lost'] as const).find((each) => sets[each]?.includes(node));
    const state = (['leaving', 'removed'] as const).find((each) => sets[each]?.includes(node));
    const isLearner = sets.pool?.includes(node) === true;
    const isVoter = sets.learners?.includes(node) !== true && !isLearner;
    const isExpected = sets.expected?.includes(node) === true;
    const known = { node, zone, state: state ?? 'active', liveness: liveness ?? 'ready' } as const;
    return { ...known, isLearner, isVoter, isExpected } satisfies NodeView;
  });
}

export function viewOf(layout: Layout): PlacementView {
  const held = (layout.held ?? '').split(' ').filter((each) => each !== '');
  const bindings = held.map((each, at) => {
    const [nodes = '', copies = 0] = each.split(':');
    return bindingOn(at + 1, Array.from(nodes, Number), Number(copies));
  });
  return { nodes: nodesOf(layout), bindings };
}

/** Nodes that have or will have a replica of the database. */
export function holdersOf({ replicas, leaving }: Binding): readonly number[] {
  return replicas.filter((replica) => !leaving.includes(replica)).map(nodeOf);
}

export const LIVENESS: readonly Liveness[] = ['ready', 'behind', 'silent', 'lost'];
