/**
 * Where the copies of a new database go. The leader of the catalog asks once, when it proposes the creation; the answer
 * goes into the entry and is the same on every node.
 */
import { type GroupId, type LevelRange, type NodeId, type ReplicaId, replicaOf, toNodeId } from '#base';
import { type Membership, membershipOf, type Standing, type Target } from '#raft';
import type { Binding, RegisteredNode } from '../outcome.ts';

/** `lost`: it has been silent for so long that it is not waited for. */
export type Liveness = Standing | 'lost';

/** A node as whoever leads the catalog sees it. */
export interface NodeView extends Pick<RegisteredNode, 'node' | 'zone' | 'state'> {
  /** By what is heard of it as a member of the catalog: `ready` is a node that answers and has nearly all of it. */
  readonly liveness: Liveness;
  /** Of the catalog: it had all of it when it became one (C13). */
  readonly isVoter: boolean;
  /** It was heard of so lately, or whoever asks leads for so short a time, that it may be ready in a moment. */
  readonly isExpected: boolean;
}

/** What whoever leads the catalog knows when it places a new database: nothing of any other one. */
export interface SpreadView {
  readonly nodes: readonly NodeView[];
  /** Copies that each node holds; who holds none may be missing. */
  readonly loads: ReadonlyMap<NodeId, number>;
}

/** What it knows when it looks whether databases are where they should be. */
export interface PlacementView {
  readonly nodes: readonly NodeView[];
  readonly bindings: readonly Binding[];
}

export interface Placement {
  /** The voters of a new group: at least one, each on a node of its own. */
  replicas(view: SpreadView): readonly ReplicaId[];
}

/** What a cluster is kept at by whoever leads its catalog. */
export interface Upkeep {
  /** Copies of each database, if there are so many nodes. */
  readonly copies: number;
  /** A node of which nothing was heard for so long is replaced, if another one is free; undefined: never. */
  readonly replaceAfterMs: number | undefined;
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
  /** The levels that this node knows: those of its release, unless a test is of another one. */
  readonly levels?: LevelRange;
  /** Undefined: copies and votes stay where they are unless somebody says otherwise. */
  readonly upkeep?: Upkeep;
  /**
   * What a group should be: whoever leads it takes it there. Undefined when it is to be what the catalog says. Asked at
   * any time; who changes the answer tells the core so (`reviewMembership`).
   */
  readonly wanted: (group: GroupId) => Target | undefined;
}

/** A cluster of these nodes: each holds the catalog and every database. */
export function clusterOf(nodes: readonly NodeId[], node: NodeId): ClusterPorts {
  const replicas = nodes.map((each) => replicaOf(each));
  return { node, founders: membershipOf(replicas), placement: { replicas: () => replicas }, wanted: () => undefined };
}
