/**
 * A volume that is a file system of its own, which the folders of other volumes are not: it can be full, and it grows
 * with its claim, as with a driver of storage that expands volumes in use.
 */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, eventually } from '../cluster.ts';
import type { Claim, Volume } from '../objects.ts';
import { attempt, feed, run } from '../run.ts';

const POLL_MS = 200;
/** Free bytes with which a node still appends to its log, but refuses writes of clients. */
const LEFT_BYTES = 14 * 2 ** 20;

export interface SmallDisk {
  /** Files that the node does not know take all space but `leftBytes`. */
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

/** Makes a claim, and its volume on a Kubernetes node, before a pod uses it. */
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
  await run('mount', '-t', 'tmpfs', '-o', `size=${sizeOf(storage)}`, name, path);
  void grow(path, async () => (await claimNow()).spec.resources.requests.storage, storage);
  return {
    fill: async (leftBytes = LEFT_BYTES) => {
      const { bavail, bsize } = statfsSync(path);
      const allocated = bavail * bsize - Math.max(leftBytes, LEFT_BYTES);
      await run('fallocate', '--length', String(allocated), join(path, 'something-else'));
      // The node writes meanwhile, so the last bytes are taken one by one.
      if (leftBytes === 0) await attempt('dd', 'if=/dev/zero', `of=${join(path, 'the-rest')}`, 'bs=4096');
    },
  };
}

/** Gives a file system the size that is asked for, as long as the world is there. */
async function grow(path: string, wanted: () => Promise<string>, storage: string): Promise<never> {
  for (let size = storage; ; ) {
    const next = await wanted();
    if (next !== size) await run('mount', '-o', `remount,size=${sizeOf(next)}`, path);
    size = next;
    await delay(POLL_MS);
  }
}

/** `512Mi` as `mount` has it. */
function sizeOf(storage: string): string {
  return storage.replace('i', '').toLowerCase();
}
