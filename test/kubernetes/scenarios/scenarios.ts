/** What is done to a Cairn cluster in Kubernetes while clients use it. Each scenario begins with an empty cluster. */
import { type Cluster, eventually, isReady } from '../cluster.ts';
import { feed } from '../run.ts';
import { type ClientFigures, Clients } from './clients.ts';
import { clusterStatus, installCairn, POD_HOSTS, PODS, replaceLostNode, uninstallCairn } from './install.ts';

export interface Figures extends ClientFigures {
  /** Milliseconds that each step took. */
  readonly steps: Readonly<Record<string, number>>;
}

interface ScenarioRun {
  readonly cluster: Cluster;
  readonly clients: Clients;
  /** Does something, and notes how long it took. */
  readonly step: (name: string, action: () => Promise<unknown>) => Promise<void>;
}

const SEED = 7;
/** Transactions before and after what is done. */
const SOME = 100;
const ALL = 'app.kubernetes.io/name=cairn';
const POLICY = 'cut';

export type ScenarioName =
  | 'leader-deleted'
  | 'rolling-restart'
  | 'all-deleted'
  | 'node-drained'
  | 'node-lost'
  | 'volume-lost'
  | 'first-volume-lost-with-all-down'
  | 'leader-cut-off'
  | 'reinstalled';

const DEEDS: Readonly<Record<ScenarioName, (run: ScenarioRun) => Promise<void>>> = {
  'leader-deleted': async ({ cluster, clients, step }) => {
    const leader = leaderOf(clients);
    const before = await cluster.uidsOf([leader]);
    await step('delete the pod of the leader', () => cluster.kubectl('delete', 'pod', leader, '--wait=false'));
    await step('until it is ready again', () => cluster.untilReady([leader], before));
  },

  'rolling-restart': async ({ cluster, step }) => {
    const before = await cluster.uidsOf(PODS);
    await installCairn(cluster, 'podAnnotations.restarted=yes');
    await step('rolling restart', () => cluster.kubectl('rollout', 'status', 'statefulset/cairn', '--timeout=180s'));
    await step('helm test', () => cluster.helm('test', 'cairn', '--timeout=60s'));
    await cluster.untilReady(PODS, before);
  },

  'all-deleted': async ({ cluster, step }) => {
    const before = await cluster.uidsOf(PODS);
    await cluster.kubectl('delete', 'pods', `--selector=${ALL}`, '--wait=false');
    await step('until all pods are ready again', () => cluster.untilReady(PODS, before));
  },

  'node-drained': async ({ cluster, clients, step }) => {
    const pod = leaderOf(clients);
    const before = await cluster.uidsOf([pod]);
    const nodes = await Promise.all(PODS.map((name) => nodeOf(cluster, name)));
    const own = await nodeOf(cluster, pod);
    const other = nodes.find((node) => node !== own) ?? '';
    const drain = (node: string, timeout: string): Promise<string> =>
      cluster.kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', `--timeout=${timeout}`);
    await step('drain its Kubernetes node', () => drain(own, '120s'));
    await step('be refused to drain another one', () =>
      drain(other, '5s').then(
        () => Promise.reject(new Error('two of three pods were evicted at a time')),
        (error: unknown) => expectText(error, 'disruption budget'),
      ),
    );
    await cluster.kubectl('uncordon', own);
    await cluster.kubectl('uncordon', other);
    await step('until it is ready again', () => cluster.untilReady([pod], before));
  },

  'node-lost': async ({ cluster, clients, step }) => {
    const pod = leaderOf(clients);
    const node = await nodeOf(cluster, pod);
    await cluster.kubectl('label', 'node', node, 'power=off');
    await step('write without it', () => clients.untilMore(SOME));
    await step('until its Kubernetes node is NotReady', () =>
      eventually('the pod not to be ready', async () => !isReady(await cluster.pod(pod))),
    );
    await cluster.kubectl('label', 'node', node, 'power-');
    await step('until the pod is ready again', () => cluster.untilReady(PODS));
  },

  'volume-lost': async ({ cluster, clients, step }) => {
    const pod = leaderOf(clients);
    await loseVolume(cluster, pod);
    await step('until a node without data has joined', () => cluster.untilReady(PODS));
    await step('replace the lost one', () => replaceLostNode(cluster, pod));
  },

  'first-volume-lost-with-all-down': async ({ cluster, step }) => {
    const pod = PODS[0] ?? '';
    await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=0');
    await step('until all pods are gone', () => cluster.kubectl('wait', '--for=delete', 'pods', `--selector=${ALL}`));
    await cluster.emptyVolume(`data-${pod}`);
    await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=3');
    await step('until all pods are ready again', () => cluster.untilReady(PODS));
    await step('replace the lost one', () => replaceLostNode(cluster, pod));
    const { nodes } = await clusterStatus(cluster, 'cairn-1');
    if (nodes.length !== PODS.length + 1) throw new Error(`there are ${nodes.length} nodes, one of them removed`);
  },

  'leader-cut-off': async ({ cluster, clients, step }) => {
    const leader = leaderOf(clients);
    const podSelector = { matchLabels: { 'statefulset.kubernetes.io/pod-name': leader } };
    const spec = { podSelector, policyTypes: ['Ingress', 'Egress'] };
    const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: POLICY }, spec };
    await feed(JSON.stringify(policy), 'kubectl', 'apply', '--server-side', '-f', '-');
    await step('until another pod leads', () =>
      eventually('another leader', () => Promise.resolve(clients.leader !== leader)),
    );
    await step('write without it', () => clients.untilMore(SOME));
    await cluster.kubectl('delete', 'networkpolicy', POLICY);
    await step('until it is ready again', () => cluster.untilReady(PODS));
  },

  reinstalled: async ({ cluster, step }) => {
    await step('uninstall', () => uninstallCairn(cluster));
    await cluster.kubectl('wait', '--for=delete', 'pods', `--selector=${ALL}`);
    await step('install again', () => installCairn(cluster));
    await step('until all pods are ready again', () => cluster.untilReady(PODS));
  },
};

/** Installs three pods, lets clients write, does something, lets them write more, and judges. */
export async function runIn(cluster: Cluster, name: string): Promise<Figures> {
  const deed = Object.entries(DEEDS).find(([key]) => key === name)?.[1];
  if (deed === undefined) throw new Error(`there is no scenario ${name}, but ${Object.keys(DEEDS).join(', ')}`);
  const steps: Record<string, number> = {};
  const step: ScenarioRun['step'] = async (what, action) => {
    const fromMs = performance.now();
    await action();
    steps[what] = Math.round(performance.now() - fromMs);
  };
  await step('install, and until ready', async () => {
    await installCairn(cluster);
    await cluster.untilReady(PODS);
  });
  const clients = new Clients(cluster, POD_HOSTS, SEED);
  await clients.start();
  await clients.untilMore(SOME);
  await deed({ cluster, clients, step });
  await clients.untilMore(SOME);
  return { ...(await clients.judge()), steps };
}

function leaderOf({ leader }: Clients): string {
  if (leader === undefined) throw new Error('no answer named the leader');
  return leader;
}

async function nodeOf(cluster: Cluster, pod: string): Promise<string> {
  return (await cluster.pod(pod)).spec.nodeName ?? '';
}

/** Deletes a claim and its pod, so that the next pod of this name has an empty volume. */
async function loseVolume(cluster: Cluster, pod: string): Promise<void> {
  const before = await cluster.uidsOf([pod]);
  await cluster.kubectl('delete', 'persistentvolumeclaim', `data-${pod}`, '--wait=false');
  await cluster.kubectl('delete', 'pod', pod, '--wait=false');
  await eventually('the next pod', async () => !before.has((await cluster.pod(pod)).metadata.uid));
}

function expectText(error: unknown, text: string): void {
  if (!String(error).includes(text)) throw error;
}
