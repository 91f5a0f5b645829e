/** Scenarios in which pods are deleted and replaced, and Kubernetes nodes are drained or lost. */
import { type Cluster, eventually, isReady } from '../cluster.ts';
import { PODS } from './install.ts';
import { ALL, leaderOf, nodeOf, type Scenarios, SOME } from './scenario.ts';

export const POD_SCENARIOS: Scenarios<
  'leader-deleted' | 'rolling-restart' | 'all-deleted' | 'node-drained' | 'node-lost'
> = {
  'leader-deleted': {
    act: async ({ cluster, clients, step }) => {
      const leader = leaderOf(clients);
      const before = await cluster.uidsOf([leader]);
      await step('delete the pod of the leader', () => cluster.kubectl('delete', 'pod', leader, '--wait=false'));
      await step('until it is ready again', () => cluster.untilReady([leader], before));
    },
  },

  // Probes, preStop and helm test use certificates, too.
  'rolling-restart': {
    hasCertificates: true,
    act: async ({ cluster, install, step }) => {
      const before = await cluster.uidsOf(PODS);
      await install('podAnnotations.restarted=yes');
      await step('rolling restart', () => cluster.kubectl('rollout', 'status', 'statefulset/cairn', '--timeout=180s'));
      await step('helm test', () => cluster.helm('test', 'cairn', '--timeout=60s'));
      await cluster.untilReady(PODS, before);
      const failedHooks = await messagesOf(cluster, 'FailedPreStopHook');
      if (failedHooks !== '') throw new Error(failedHooks);
    },
  },

  'all-deleted': {
    act: async ({ cluster, step }) => {
      const before = await cluster.uidsOf(PODS);
      await cluster.kubectl('delete', 'pods', ALL, '--wait=false');
      await step('until all pods are ready again', () => cluster.untilReady(PODS, before));
    },
  },

  'node-drained': {
    act: async ({ cluster, clients, step }) => {
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
  },

  'node-lost': {
    act: async ({ cluster, clients, step }) => {
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
  },
};

/** Messages of the events with this reason. */
function messagesOf(cluster: Cluster, reason: string): Promise<string> {
  return cluster.kubectl('get', 'events', `--field-selector=reason=${reason}`, '--output=jsonpath={.items[*].message}');
}

function expectText(error: unknown, text: string): void {
  if (!String(error).includes(text)) throw error;
}
