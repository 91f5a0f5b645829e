/**
 * Converts network policies to one nft table. Every packet of a connection is judged, not only the first, so that a
 * policy also cuts existing connections. Answers to an allowed connection pass. Policies apply to pods only: packets
 * from the machine itself (probes, the API server) always pass, and so do requests to DNS, which is no pod here.
 */
import type { V1LabelSelector, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '@kubernetes/client-node';
import type { NetworkPolicy, Pod, Resource } from '../objects.ts';

export interface Policed {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Resource[];
}

type Direction = 'Ingress' | 'Egress';

/** A rule of a policy. The typed model has another name for `from` than the JSON of the API server. */
interface Rule {
  readonly from?: readonly V1NetworkPolicyPeer[];
  readonly to?: readonly V1NetworkPolicyPeer[];
  readonly ports?: readonly V1NetworkPolicyPort[];
}

/** The table as input of `nft -f`. */
export function policyTable({ policies, pods: all, namespaces }: Policed): string {
  const pods = all.filter(({ status: { podIP, phase } }) => podIP !== undefined && phase === 'Running');
  const chains: string[] = [];
  const judge = (direction: Direction, field: string): string => {
    const verdicts = pods.flatMap((pod) => {
      const selecting = policies.filter((policy) => selects(policy, pod, direction));
      if (selecting.length === 0) return [];
      const rules = selecting.flatMap((policy) => conditionsOf(policy, pod, direction, { policies, pods, namespaces }));
      const name = `${direction.toLowerCase()}-${pod.metadata.uid.slice(0, 8)}`;
      chains.push(`chain ${name} { ${[...new Set(rules)].map((rule) => `${rule} return;`).join(' ')} drop; }`);
      return [`${pod.status.podIP} : jump ${name}`];
    });
    return verdicts.length === 0 ? '' : `ip ${field} vmap { ${verdicts.join(', ')} };`;
  };
  const leave = judge('Egress', 'saddr');
  const enter = judge('Ingress', 'daddr');
  return `
table ip policies
delete table ip policies
table ip policies {
  ${chains.join('\n  ')}
  chain between-pods { type filter hook forward priority filter; ct direction reply accept; ${leave} ${enter} }
  chain to-machine { type filter hook input priority filter; ct direction reply accept; udp dport 53 accept; ${leave} }
}
`;
}

function selects({ metadata, spec }: NetworkPolicy, pod: Pod, direction: Direction): boolean {
  const isOfNamespace = metadata.namespace === pod.metadata.namespace;
  return isOfNamespace && (spec.policyTypes ?? ['Ingress']).includes(direction) && matches(spec.podSelector, pod);
}

/** Conditions in nft under which a policy allows packets to or from a pod that it selects. */
function conditionsOf(
  { metadata, spec }: NetworkPolicy,
  pod: Pod,
  direction: Direction,
  cluster: Policed,
): readonly string[] {
  const isIngress = direction === 'Ingress';
  const rules: readonly Rule[] = (isIngress ? spec.ingress : spec.egress) ?? [];
  return rules.flatMap(({ from, to, ports }) => {
    const addresses = (from ?? to)?.flatMap((peer) => addressesOf(peer, metadata.namespace, cluster));
    const sides = addresses?.map((set) => `ip ${isIngress ? 'saddr' : 'daddr'} ${set}`) ?? [''];
    const targets = ports?.flatMap((port) => portsOf(port, isIngress ? [pod] : cluster.pods)) ?? [''];
    return sides.flatMap((side) => targets.map((target) => `${side} ${target}`.trim()));
  });
}

/** The numbers of a port, which some of the pods may name. */
function portsOf({ port, protocol = 'TCP' }: V1NetworkPolicyPort, pods: readonly Pod[]): readonly string[] {
  const known = pods.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports));
  const named = known.flatMap(({ name, containerPort }) => (name === port ? [containerPort] : []));
  const numbers = new Set(typeof port === 'number' ? [port] : named);
  return [...numbers].map((number) => `${protocol.toLowerCase()} dport ${number}`);
}

/** A set of the addresses of a peer; none when it matches no pod. */
function addressesOf(
  { ipBlock, podSelector, namespaceSelector }: V1NetworkPolicyPeer,
  own: string,
  { pods, namespaces }: Policed,
): readonly string[] {
  if (ipBlock !== undefined) throw new Error('the harness knows no blocks of addresses in network policies');
  const selected = namespaces.filter((namespace) =>
    namespaceSelector === undefined ? namespace.metadata.name === own : matches(namespaceSelector, namespace),
  );
  const names = selected.map(({ metadata }) => metadata.name);
  const peers = pods.filter((pod) => names.includes(pod.metadata.namespace) && matches(podSelector, pod));
  return peers.length === 0 ? [] : [`{ ${peers.map(({ status }) => status.podIP).join(', ')} }`];
}

function matches(selector: V1LabelSelector | undefined, { metadata: { labels = {} } }: Resource): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (matchExpressions.length > 0) throw new Error('the harness knows no matchExpressions of network policies');
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}
