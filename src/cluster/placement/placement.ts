/**
 * Placement of the replicas of a new database. The leader of the catalog decides once, when it proposes the creation;
 * the entry contains the result, the same for every node.
 */
import type { LevelRange, NodeId, ReplicaId } from '#base';
import type { MemberState, Membership } from '#raft';
import type { Binding, RegisteredNode } from '../outcome.ts';

/** `lost`: silent for so long that nothing waits for it. */
export type Liveness = MemberState | 'lost';

/** A node in the view of the catalog's leader. */
export interface NodeView extends Pick<RegisteredNode, 'node' | 'zone' | 'state' | 'isLearner'> {
  /** Its state as a member of the catalog: `ready` is a node that answers and hardly lags. */
  readonly liveness: Liveness;
  /** True when it votes for the catalog, so it had all of it once (C13). */
  readonly isVoter: boolean;
  /** True when it may be ready soon: it sent a message recently, or the leader is new. */
  readonly isExpected: boolean;
}

/** The leader's view for placing a new database, without other databases. */
export interface SpreadView {
  readonly nodes: readonly NodeView[];
  /** Replicas per node; nodes without any may be missing. */
  readonly loads: ReadonlyMap<NodeId, number>;
}

/** The leader's view for checking the placement of databases. */
export interface PlacementView {
  readonly nodes: readonly NodeView[];
  readonly bindings: readonly Binding[];
}

export interface Placement {
  /** The voters of a new group, which asks for so many: at least one, each on another node. 0: the default. */
  replicas(view: SpreadView, asked: number): readonly ReplicaId[];
}

/** Placement goals of the catalog's leader. */
export interface Upkeep {
  /** Replicas of a database that asks for no number, if there are enough nodes. */
  readonly copies: number;
  /** Time after which an unreachable node is replaced, if another one is free; undefined: never. */
  readonly replaceAfterMs: number | undefined;
}

/** The cluster of a core. */
export interface ClusterPorts {
  /** Number of this node; it determines the ids of its replicas. */
  readonly node: NodeId;
  /** True when it votes for nothing, and has a replica of every database. */
  readonly isLearner?: boolean;
  /** First members of the catalog group, when the store has none yet. */
  readonly founders: Membership;
  readonly placement: Placement;
  /** Feature levels of this node: those of its release, unless a test simulates another. */
  readonly levels?: LevelRange;
  /** Undefined: replicas and votes stay where they are unless requested otherwise. */
  readonly upkeep?: Upkeep;
}
