/**
 * Creates volumes for claims of the class `local-path`. A volume is a folder that belongs to the Kubernetes node that
 * the scheduler chose, like a local disk. A claim that grows gets its new size at once; a file system that a scenario
 * has mounted on the folder is enlarged first, as a storage driver does it. Volumes outlive their claims.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, unless } from '../../../operator/src/kube/index.ts';
import type { Claim } from '../objects.ts';
import { attempt } from '../run.ts';

const CLASS = 'local-path';
const VOLUMES = '/api/v1/persistentvolumes';

export async function createStorageClass(api: Api): Promise<void> {
  await api.create('/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: CLASS, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'cairn.dev/local-path',
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Retain',
    allowVolumeExpansion: true,
  });
}

/** Creates or enlarges the volume of a claim when that is due. Folders of volumes are in `dir`. */
export async function provision(api: Api, dir: string, { metadata, spec, status }: Claim): Promise<void> {
  const { name, namespace, uid, annotations } = metadata;
  const node = annotations?.['volume.kubernetes.io/selected-node'];
  if (spec.storageClassName !== CLASS || node === undefined) return;
  const capacity = { storage: spec.resources?.requests?.['storage'] ?? '' };
  const path = join(dir, `pvc-${uid}`);
  if (spec.volumeName === undefined) {
    mkdirSync(path, { recursive: true });
    const onNode = { key: 'kubernetes.io/hostname', operator: 'In', values: [node] };
    const volume = {
      metadata: { name: `pvc-${uid}` },
      spec: {
        capacity,
        accessModes: spec.accessModes,
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: CLASS,
        hostPath: { path },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode] }] } },
      },
    };
    await api.create(VOLUMES, volume).catch(unless(409));
  } else if (status.phase === 'Bound' && status.capacity?.['storage'] !== capacity.storage) {
    await attempt('mount', '-o', `remount,size=${mountSize(capacity.storage)}`, path);
    await api.patch(`${VOLUMES}/${spec.volumeName}`, { spec: { capacity } });
    await api.patch(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`, { status: { capacity } });
  }
}

/** Converts a size such as `512Mi` to the form of `mount`. */
export function mountSize(storage: string): string {
  return storage.replace('i', '').toLowerCase();
}
