/** Installs Cairn by its chart with three pods, and runs the commands of an operator in them. */
import { resolve } from 'node:path';
import { type Secret, textIn } from '../../../operator/src/kube/index.ts';
import { type Cluster, eventually } from '../cluster.ts';

const CHART = resolve(import.meta.dirname, '../../../charts/cairn');
export const PODS: readonly string[] = ['cairn-0', 'cairn-1', 'cairn-2'];
/** The domain of Services. */
export const DOMAIN = 'default.svc.cluster.local';
export const POD_HOSTS: readonly string[] = PODS.map((_, ordinal) => podHost(ordinal));
/** Name of the Service for clients. */
export const SERVICE_HOST: string = `cairn.${DOMAIN}`;
/** Shorter waits, because Services of the harness follow their pods at once. */
const VALUES = ['minReadySeconds=1', 'drain.lingerSeconds=2'];

/** Name of the pod with this ordinal in DNS. */
export function podHost(ordinal: number, set: string = 'cairn'): string {
  return `${set}-${ordinal}.cairn-headless.${DOMAIN}`;
}

/** The same for a learner. */
export function learnerHost(ordinal: number): string {
  return podHost(ordinal, 'cairn-learners');
}

/** Installs the chart, or upgrades it to other values. */
export async function installCairn(cluster: Cluster, ...changed: readonly string[]): Promise<void> {
  const [repository = '', tag = ''] = cluster.image.split(':');
  const values = [`image.repository=${repository}`, `image.tag=${tag}`, ...VALUES, ...changed];
  await cluster.helm('upgrade', '--install', 'cairn', CHART, ...values.flatMap((value) => ['--set', value]));
}

/** The key of the first administrator, which the chart has created. */
export async function firstKey({ api }: Cluster): Promise<string> {
  return textIn(await api.get<Secret>('/api/v1/namespaces/default/secrets/cairn-auth'), 'bootstrap-key') ?? '';
}

/** Uninstalls the chart; volumes and their claims stay. */
export async function uninstallCairn(cluster: Cluster): Promise<void> {
  await cluster.helm('uninstall', 'cairn', '--wait');
}

/** The used part of the output of `cairn cluster status --json`. */
interface ClusterStatus {
  /** The feature level. */
  readonly level: number;
  readonly nodes: readonly {
    readonly node: number;
    readonly name: string;
    readonly state: string;
    readonly answers: boolean;
    readonly catalogRole: string;
  }[];
  readonly databases: readonly {
    readonly isSettled: boolean;
    /** Set when it was recovered from one replica, which had this revision. */
    readonly recovery?: { readonly revision: number };
    readonly members: readonly { readonly node: number; readonly lag: number }[];
  }[];
}

export async function clusterStatus(cluster: Cluster, pod: string): Promise<ClusterStatus> {
  const status: ClusterStatus = JSON.parse(await cairn(cluster, pod, 'status', '--json'));
  return status;
}

/** Removes the node whose volume a pod has lost; the node that has joined from that pod takes its place. */
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

/** Runs a command of `cairn cluster` in a pod, for the node there. */
function cairn(cluster: Cluster, pod: string, ...command: readonly string[]): Promise<string> {
  return cluster.execute(pod, 'cairn', 'cluster', ...command);
}
