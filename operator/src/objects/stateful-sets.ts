/** The StatefulSets, and the objects that their pods cannot start without. */
import type { CairnCluster } from '../api/index.ts';
import { defined } from '../kube/index.ts';
import { foundingOf } from './environment.ts';
import { COMPONENTS, DATA_VOLUME, namesOf, type Pool, selectorLabels, setName } from './names.ts';
import { type ClusterFacts, metadataOf, type OwnedObject, owned } from './owned.ts';
import { grantsOf, podTemplate } from './pod.ts';

export function statefulSetsOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const voters = statefulSetOf(cluster, facts, 'voters', facts.replicas);
  return facts.learners === undefined ? [voters] : [voters, statefulSetOf(cluster, facts, 'learners', facts.learners)];
}

function statefulSetOf(cluster: CairnCluster, facts: ClusterFacts, pool: Pool, replicas: number): OwnedObject {
  const { storageClassName } = cluster.spec.storage;
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: DATA_VOLUME, labels: selectorLabels(cluster, pool) },
    spec: defined({
      accessModes: ['ReadWriteOnce'],
      storageClassName,
      resources: { requests: { storage: facts.storageSize } },
    }),
  };
  return owned('StatefulSet', metadataOf(cluster, { name: setName(cluster, pool), component: COMPONENTS[pool] }), {
    spec: {
      serviceName: namesOf(cluster).headless,
      replicas,
      // All at once: a cluster is founded, and has a quorum, when several of them run.
      podManagementPolicy: 'Parallel',
      // The operator replaces pods: it moves leaderships off each, and waits for the others.
      updateStrategy: { type: 'OnDelete' },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      selector: { matchLabels: selectorLabels(cluster, pool) },
      template: podTemplate(cluster, facts, pool),
      volumeClaimTemplates: [claim],
    },
  });
}

/** The account of the pods, which get no token for it. */
export function serviceAccountOf(cluster: CairnCluster): OwnedObject {
  return owned('ServiceAccount', metadataOf(cluster), { automountServiceAccountToken: false });
}

export function configMapsOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const { founding, grants: name } = namesOf(cluster);
  const grants = grantsOf(cluster);
  const found = owned('ConfigMap', metadataOf(cluster, { name: founding }), { data: foundingOf(cluster, facts) });
  if (grants === undefined) return [found];
  return [found, owned('ConfigMap', metadataOf(cluster, { name }), { data: { 'grants.json': grants } })];
}
