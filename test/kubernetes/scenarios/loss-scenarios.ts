/** Volumes that are lost, and a pod that is cut off. */
import { eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { clusterStatus, PODS, replaceLostNode } from './install.ts';
import { ALL, leaderOf, type Scenarios, SOME } from './scenario.ts';

const POLICY = 'cut';

export const LOSS_SCENARIOS: Scenarios<'first-volume-lost-with-all-down' | 'leader-cut-off'> = {
  'first-volume-lost-with-all-down': {
    act: async ({ cluster, step }) => {
      const pod = PODS[0] ?? '';
      await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=0');
      await step('until all pods are gone', () => cluster.kubectl('wait', '--for=delete', 'pods', ALL));
      await cluster.kubectl('delete', 'persistentvolumeclaim', `data-${pod}`);
      await cluster.kubectl('scale', 'statefulset/cairn', '--replicas=3');
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
