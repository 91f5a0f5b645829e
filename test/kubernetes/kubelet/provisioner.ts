/**
 * Volumes for claims of the class `local-path`: a folder each, which belongs to the Kubernetes node that the scheduler
 * chose, as a local disk does. A claim that grows gets its new size at once.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, unless } from '../../../operator/src/kube/index.ts';
import { type Claim, namespaceOf, type Volume } from '../objects.ts';

const CLASS = 'local-path';
const PROVISIONER = 'cairn.dev/local-path';
const VOLUMES = '/api/v1/persistentvolumes';

export async function createStorageClass(api: Api): Promise<void> {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const storageClass = {
    metadata: { name: CLASS, annotations },
    provisioner: PROVISIONER,
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: true,
  };
  await api.create('/apis/storage.k8s.io/v1/storageclasses', storageClass);
}

/** Does for a claim what is left to do. */
export async function provision(api: Api, dir: string, claim: Claim): Promise<void> {
  const { metadata, spec, status } = claim;
  const node = metadata.annotations?.['volume.kubernetes.io/selected-node'];
  if (spec.storageClassName !== CLASS || node === undefined) return;
  const { storage } = spec.resources.requests;
  if (spec.volumeName === undefined) return createVolume(api, dir, { claim, node, storage });
  if (status.phase !== 'Bound' || status.capacity?.storage === storage) return;
  const capacity = { storage };
  await api.patch(`${VOLUMES}/${spec.volumeName}`, { spec: { capacity } });
  const path = `/api/v1/namespaces/${namespaceOf(claim)}/persistentvolumeclaims/${metadata.name}/status`;
  await api.patch(path, { status: { capacity } });
}

/** Removes a volume whose claim was deleted, unless its policy is to keep it. */
export async function reclaim(api: Api, { metadata: { name, annotations }, spec, status }: Volume): Promise<void> {
  const isOurs = annotations?.['pv.kubernetes.io/provisioned-by'] === PROVISIONER;
  if (!isOurs || status?.phase !== 'Released' || spec.persistentVolumeReclaimPolicy !== 'Delete') return;
  rmSync(spec.hostPath.path, { recursive: true, force: true });
  await api.delete(`${VOLUMES}/${name}`).catch(unless(404));
}

async function createVolume(
  api: Api,
  dir: string,
  { claim, node, storage }: { readonly claim: Claim; readonly node: string; readonly storage: string },
): Promise<void> {
  const { name, uid } = claim.metadata;
  const path = join(dir, `pvc-${uid}`);
  mkdirSync(path, { recursive: true });
  const onNode = { key: 'kubernetes.io/hostname', operator: 'In', values: [node] };
  const volume = {
    metadata: { name: `pvc-${uid}`, annotations: { 'pv.kubernetes.io/provisioned-by': PROVISIONER } },
    spec: {
      capacity: { storage },
      accessModes: claim.spec.accessModes,
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: CLASS,
      volumeMode: 'Filesystem',
      hostPath: { path },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace: namespaceOf(claim), uid },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode] }] } },
    },
  };
  await api.create(VOLUMES, volume).catch(unless(409));
}
