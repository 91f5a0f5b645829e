/**
 * Where the copies of a new database go. The leader of the catalog asks once, when it proposes the creation; the answer
 * goes into the entry and is the same on every node.
 */
import { type GroupId, type NodeId, type ReplicaId, replicaOf, toNodeId } from '#base';
import { type Membership, membershipOf, type Target } from '#raft';
import type { Binding, RegisteredNode } from './outcome.ts';

/** What whoever leads the catalog knows when it places a database. */
export interface PlacementView {
  readonly nodes: readonly RegisteredNode[];
  readonly bindings: readonly Binding[];
  /** Nodes that answer. */
  readonly answering: ReadonlySet<NodeId>;
}

export interface Placement {
  /** The voters of a new group: at least one, each on a node of its own. */
  replicas(view: PlacementView): readonly ReplicaId[];
}

/** Whoever begins a cluster is its first node, and its catalog begins with that node alone. */
export const FIRST_NODE: NodeId = toNodeId(1);
export const FOUNDERS: Membership = membershipOf([replicaOf(FIRST_NODE)]);

/** What a core is told of the cluster that it belongs to. */
export interface ClusterPorts {
  /** Which node this is: its replicas are those whose ids name it. */
  readonly node: NodeId;
  /** Who the catalog's group begins with, when the store holds none yet. */
  readonly founders: Membership;
  readonly placement: Placement;
  /**
   * What a group should be: whoever leads it takes it there. Undefined when it is to stay as it is. Asked at any time; who
   * changes the answer tells the core so (`reviewMembership`).
   */
  readonly wanted: (group: GroupId) => Target | undefined;
}

/** A cluster of these nodes: each holds the catalog and every database. */
export function clusterOf(nodes: readonly NodeId[], node: NodeId): ClusterPorts {
  const replicas = nodes.map((each) => replicaOf(each));
  return { node, founders: membershipOf(replicas), placement: { replicas: () => replicas }, wanted: () => undefined };
}
