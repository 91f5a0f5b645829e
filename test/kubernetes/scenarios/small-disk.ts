/**
 * A volume that is a small file system of its own, so that it can become full. The folders of other volumes share the
 * disk of the machine. The provisioner enlarges it with its claim.
 */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, eventually } from '../cluster.ts';
import { mountSize } from '../kubelet/provisioner.ts';
import type { Claim, Volume } from '../objects.ts';
import { attempt, feed, run } from '../run.ts';

/** Free bytes with which a node still appends to its log, but refuses writes of clients. */
const LEFT_BYTES = 14 * 2 ** 20;

export interface SmallDisk {
  /** Fills the volume with other files, except for `leftBytes`. */
  readonly fill: (leftBytes?: number) => Promise<void>;
}

interface SmallDiskOptions {
  /** Name of the claim. */
  readonly name: string;
  /** Kubernetes node of the volume. */
  readonly node: string;
  readonly storage: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Creates a claim and its volume on a Kubernetes node, before a pod uses it. */
export async function makeSmallDisk(
  cluster: Cluster,
  { name, node, storage, labels = {} }: SmallDiskOptions,
): Promise<SmallDisk> {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, labels, annotations: { 'volume.kubernetes.io/selected-node': node } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  };
  await feed(JSON.stringify(claim), 'kubectl', 'apply', '--server-side', '-f', '-');
  const claimNow = (): Promise<Claim> => cluster.api.get(`/api/v1/namespaces/default/persistentvolumeclaims/${name}`);
  await eventually(`the claim ${name} to be bound`, async () => (await claimNow()).status.phase === 'Bound');
  const { volumeName } = (await claimNow()).spec;
  const volume = await cluster.api.get<Volume>(`/api/v1/persistentvolumes/${volumeName}`);
  const { path } = volume.spec.hostPath;
  await run('mount', '-t', 'tmpfs', '-o', `size=${mountSize(storage)}`, name, path);
  return {
    fill: async (leftBytes = LEFT_BYTES) => {
      const { bavail, bsize } = statfsSync(path);
      const allocated = bavail * bsize - Math.max(leftBytes, LEFT_BYTES);
      await run('fallocate', '--length', String(allocated), join(path, 'something-else'));
      // The node writes meanwhile, so the last bytes are filled one by one.
      if (leftBytes === 0) await attempt('dd', 'if=/dev/zero', `of=${join(path, 'the-rest')}`, 'bs=4096');
    },
  };
}
