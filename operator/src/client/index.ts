/**
 * Clients of a cluster of Cairn.
 *
 * For: channels with the credentials of the administrator, and the admin API. A channel reads its credentials from the
 * Secrets of a CairnCluster, and connects to the cluster's pods or to its Service.
 *
 * Not here: when something is called. Controllers decide that. The messages are generated in proto/gen; the types that
 * controllers plan with are narrower, so that a simulation can produce them.
 *
 * Invariant: KG1 (channel.ts).
 */
export { Identities, type MountingPod, nodeAddress, serviceAddress } from './access.ts';
export { CallError, Channel, failedWith, type Identity } from './channel.ts';
export {
  type ClusterAdmin,
  type ClusterDescription,
  type ClusterNode,
  GrpcClusterAdmin,
  type NodeOrder,
} from './cluster-admin.ts';
export { type Components, type ComponentVersion, GrpcComponents, type Holder, type Maintenance } from './components.ts';
export { Connections } from './connections.ts';
export { type Database, type Databases, GrpcDatabases, type Placed } from './databases.ts';
export { type ApiKey, GrpcKeys, type Keys, type NewKey } from './keys.ts';
export { type Calls, callsOf } from './node-metrics.ts';
export type { Beside, ComponentId, ComponentKind, Publication } from './publication.ts';
