/**
 * The objects of Kubernetes that a CairnCluster owns, from its spec and a few facts.
 *
 * For: everything that the chart cairn installs for a cluster, as raw JSON for server-side apply. All of it is pure.
 *
 * Not here: Secrets (../certificates), and the order and time of changes (the controller of clusters).
 *
 * Invariants:
 *   KO1  The objects are those of the chart for the same values, but for named differences.
 *   KO2  The templates of the pods depend on the spec, and on no fact but the default repository: a new release of the
 *        operator, larger volumes or more nodes restart no pod.
 */
import type { CairnCluster } from '../api/index.ts';
import { certificatesOf } from './issued.ts';
import { monitoringOf } from './monitoring.ts';
import type { ClusterFacts, OwnedObject } from './owned.ts';
import { disruptionBudgetsOf, networkPolicyOf } from './policies.ts';
import { routesOf } from './routes.ts';
import { servicesOf } from './services.ts';
import { configMapsOf, serviceAccountOf, statefulSetsOf } from './stateful-sets.ts';

export {
  CONTAINER,
  certificateNames,
  KEYS,
  mountedSecrets,
  namesOf,
  OPERATOR,
  POOLS,
  PORTS,
  type Pool,
  podDomain,
  podName,
  poolOf,
  selectorLabels,
  serviceHost,
  setName,
} from './names.ts';
export {
  type ClusterFacts,
  type DueFacts,
  groupOf,
  kindOf,
  metadataOf,
  OWNED_KINDS,
  type OwnedKind,
  type OwnedObject,
} from './owned.ts';

export { type RecoveryRun, recoveryPodOf, runOf } from './recovery-pod.ts';

/** Returns the objects in the order in which they are applied: a pod finds what it needs when it starts. */
export function objectsOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  return [
    serviceAccountOf(cluster),
    ...configMapsOf(cluster, facts),
    ...servicesOf(cluster, facts),
    ...networkPolicyOf(cluster, facts),
    ...disruptionBudgetsOf(cluster, facts),
    ...statefulSetsOf(cluster, facts),
    // Kinds that the Kubernetes cluster may not serve come last.
    ...certificatesOf(cluster),
    ...routesOf(cluster, facts),
    ...monitoringOf(cluster, facts),
  ];
}
