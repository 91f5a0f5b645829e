/**
 * Parts that the controllers of databases, access and components share.
 *
 * For: the frame of a controller; conditions of a status; finalizers that are removed even when the cluster cannot be
 * reached; lookup and readiness of the cluster that a resource refers to; label selectors.
 *
 * Not here: the loop of a controller (kube), and the meaning of any kind. It knows the schemas of resources, which the
 * machinery does not.
 *
 * A status is applied with the version of the object that was observed. So a pass on an old copy of an object fails
 * with 409 instead of removing an id from its status, and the message with the newer version brings the next pass.
 */
export { type ClusterState, Clusters, inNamespace, lackOfCluster, ofCluster, readyCluster } from './clusters.ts';
export { type ResourceController, type ResourceOptions, resourceController } from './controller.ts';
export { finalizersOf, hasFinalizer, isAbandoned } from './finalizer.ts';
export { matches } from './selector.ts';
export { claimOn, commonStatus, conditionOf } from './status.ts';
