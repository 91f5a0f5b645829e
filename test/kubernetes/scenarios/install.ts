/** Installs Cairn with three pods, and asks it what an operator would. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, eventually } from '../cluster.ts';
import { feed } from '../run.ts';

export const PODS: readonly string[] = ['cairn-0', 'cairn-1', 'cairn-2'];
export const POD_HOSTS: readonly [string, ...string[]] = [
  'cairn-0.cairn-peers',
  'cairn-1.cairn-peers',
  'cairn-2.cairn-peers',
];
const SECRET = '/etc/cairn/secret';

export async function installCairn({ image }: Cluster): Promise<void> {
  await feed(manifests(image), 'kubectl', 'apply', '--server-side', '-f', '-');
}

/** Volumes and their claims stay. */
export async function uninstallCairn({ image }: Cluster): Promise<void> {
  await feed(manifests(image), 'kubectl', 'delete', '-f', '-');
}

interface ClusterStatus {
  readonly nodes: readonly {
    readonly node: number;
    readonly name: string;
    readonly state: string;
    readonly answers: boolean;
  }[];
}

export async function clusterStatus(cluster: Cluster, pod: string): Promise<ClusterStatus> {
  const status: ClusterStatus = JSON.parse(await cairn(cluster, pod, 'status', '--json'));
  return status;
}

/** Takes the node out whose volume a pod has lost; the one that has joined from there takes its place. */
export async function replaceLostNode(cluster: Cluster, pod: string): Promise<void> {
  // A node that has just joined does not know the others yet.
  const witness = PODS.find((name) => name !== pod) ?? pod;
  let order: readonly string[] = [];
  await eventually('the lost node, and the one that has joined, to be known', async () => {
    const { nodes } = await clusterStatus(cluster, witness);
    const ofPod = nodes.filter(({ name, state }) => name === pod && state !== 'removed');
    const lost = ofPod.find(({ answers }) => !answers)?.node;
    const joined = ofPod.find(({ answers }) => answers)?.node;
    order = ['replace', String(lost), '--by', String(joined), '--wait'];
    return lost !== undefined && joined !== undefined;
  });
  await cairn(cluster, witness, ...order);
}

function cairn(cluster: Cluster, pod: string, ...command: readonly string[]): Promise<string> {
  return cluster.execute(pod, 'cairn', 'cluster', ...command, '--peer-secret-file', SECRET);
}

function manifests(image: string): string {
  return readFileSync(join(import.meta.dirname, 'cairn.yaml'), 'utf8').replace('cairn:IMAGE_TAG', image);
}
