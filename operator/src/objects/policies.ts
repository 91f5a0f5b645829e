/** Access to the pods, and disruptions of them. */
import type { CairnCluster } from '../api/index.ts';
import { COMPONENTS, clientPorts, nodeLabels, OPERATOR, type Pool, selectorLabels, setName } from './names.ts';
import { type ClusterFacts, metadataOf, type OwnedObject, owned } from './owned.ts';

/** Fewer pods have no budget: it would block every drain of a Kubernetes node. */
const BUDGET_REPLICAS_MIN = 3;

const MONITORING = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];

export function networkPolicyOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const { operatorNamespace } = facts;
  const { enabled, clients, metrics = MONITORING } = cluster.spec.network.policy;
  if (!enabled) return [];
  const podSelector = { matchLabels: nodeLabels(cluster, facts) };
  const forClients = clientPorts(cluster).map((port) => ({ port }));
  const ingress = [
    // Nodes: messages to each other, and requests of clients that they forward.
    { from: [{ podSelector }], ports: [{ port: 'peer' }, ...forClients] },
    { ports: forClients, ...(clients !== undefined && { from: clients }) },
    ...(metrics.length === 0 ? [] : [{ from: metrics, ports: [{ port: 'metrics' }] }]),
    ...(operatorNamespace === undefined ? [] : [ofOperator(operatorNamespace)]),
  ];
  return [owned('NetworkPolicy', metadataOf(cluster), { spec: { podSelector, policyTypes: ['Ingress'], ingress } })];
}

/** The operator administers the cluster, and reads metrics to judge a canary. */
function ofOperator(namespace: string): object {
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const podSelector = { matchLabels: { 'app.kubernetes.io/name': OPERATOR } };
  return { from: [{ namespaceSelector, podSelector }], ports: [{ port: 'grpc' }, { port: 'metrics' }] };
}

export function disruptionBudgetsOf(
  cluster: CairnCluster,
  { replicas, learners = 0 }: ClusterFacts,
): readonly OwnedObject[] {
  return [
    ...(replicas < BUDGET_REPLICAS_MIN ? [] : [budgetOf(cluster, 'voters', 'IfHealthyBudget')]),
    // No quorum needs a learner that does not serve.
    ...(learners === 0 ? [] : [budgetOf(cluster, 'learners', 'AlwaysAllow')]),
  ];
}

function budgetOf(cluster: CairnCluster, pool: Pool, unhealthyPodEvictionPolicy: string): OwnedObject {
  const metadata = metadataOf(cluster, { name: setName(cluster, pool), component: COMPONENTS[pool] });
  const selector = { matchLabels: selectorLabels(cluster, pool) };
  return owned('PodDisruptionBudget', metadata, { spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy, selector } });
}
