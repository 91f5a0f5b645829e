// Ports of a core in tests: a fixed cluster, and an observer of snapshots that ignores everything.
import { type NodeId, replicaOf } from '#base';
import type { ClusterPorts, SnapshotObserver } from '#cluster';
import { membershipOf } from '#raft';

/** A cluster of these nodes: each has the catalog and every database. */
export function clusterOf(nodes: readonly NodeId[], node: NodeId): ClusterPorts {
  const replicas = nodes.map((each) => replicaOf(each));
  return { node, founders: membershipOf(replicas), placement: { replicas: () => replicas } };
}

export const unobservedSnapshots: SnapshotObserver = {
  snapshotBegan: () => undefined,
  snapshotMoved: () => undefined,
  snapshotEnded: () => undefined,
  membersBehind: () => undefined,
};
