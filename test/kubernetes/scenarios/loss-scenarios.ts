/** Scenarios in which a volume is lost, or a pod is cut off from the network. */
import { eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { clusterStatus, PODS, replaceLostNode } from './install.ts';
import { ALL, leaderOf, nodeOf, type Scenarios, SOME } from './scenario.ts';

const POLICY = 'cut';

export const LOSS_SCENARIOS: Scenarios<'first-volume-lost-with-all-down' | 'leader-cut-off'> = {
  'first-volume-lost-with-all-down': {
    act: async ({ cluster, step }) => {
      const [pod = '', ...others] = PODS;
      const taken = await Promise.all(others.map((other) => nodeOf(cluster, other)));
      await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=0');
      await step('until all pods are gone', () => cluster.kubectl('wait', '--for=delete', 'pods', ALL));
      await cluster.kubectl('delete', 'persistentvolumeclaim', `data-${pod}`);
      // The scheduler may place the new volume on the Kubernetes node of another one, whose pod then stays Pending
      // (docs/operations/kubernetes.md).
      await cluster.kubectl('cordon', ...taken);
      await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=3');
      await eventually('the new volume to have a Kubernetes node', async () => (await nodeOf(cluster, pod)) !== '');
      await cluster.kubectl('uncordon', ...taken);
      await step('until all pods are ready again', () => cluster.untilReady(PODS));
      await step('replace the lost one', () => replaceLostNode(cluster, pod));
      const { nodes } = await clusterStatus(cluster, 'cairn-1');
      if (nodes.length !== PODS.length + 1) throw new Error(`there are ${nodes.length} nodes, one of them removed`);
    },
  },

  'leader-cut-off': {
    act: async ({ cluster, clients, step }) => {
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
  },
};
