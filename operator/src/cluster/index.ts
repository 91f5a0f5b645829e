/**
 * The controller of CairnClusters: it installs, scales, upgrades and repairs a cluster.
 *
 * For: from a CairnCluster, its pods and what the cluster says of itself to the next action. Each pass observes the
 * world, plans by rules in order of precedence (plan.ts), acts and reports the status.
 *
 * Not here: the objects of a cluster, which are an input; certificates; databases and components.
 *
 * The state of what has begun is in Kubernetes and in the cluster: the status, annotations and labels, nodes that leave
 * or are drained. So another operator continues after any action.
 *
 * Invariants: KC1 to KC13 (plan.ts).
 */
export { type ClusterPorts, clusterController, type ObjectsOf } from './controller.ts';
export { ClusterInformers, type ClusterObjects } from './informers.ts';
export type { World } from './world.ts';
