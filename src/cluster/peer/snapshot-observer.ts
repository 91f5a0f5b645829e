/** Observes snapshot transfers for metrics and the log. */
import type { GroupId, NodeId } from '#base';

/** Sent to a member of a group, or received from its leader. */
export type SnapshotWay = 'sent' | 'received';

export interface SnapshotFacts {
  readonly way: SnapshotWay;
  readonly group: GroupId;
  /** The other node. */
  readonly node: NodeId;
}

export interface SnapshotEnding extends SnapshotFacts {
  /** Reason of a failure; undefined on success. */
  readonly fault: string | undefined;
  readonly bytes: number;
  readonly elapsedMs: number;
}

export interface SnapshotObserver {
  snapshotBegan(facts: SnapshotFacts): void;
  snapshotMoved(way: SnapshotWay, node: NodeId, bytes: number): void;
  snapshotEnded(ending: SnapshotEnding): void;
  /** Number of members of groups led by this node that need a snapshot. */
  membersBehind(count: number): void;
}
