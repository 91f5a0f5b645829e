/**
 * Network policies as one nft table. Every packet of a connection is judged, not its first one alone, so that a policy
 * cuts connections that exist. Answers to an allowed connection pass.
 *
 * Policies speak of pods: what the machine itself sends (probes, the API server) is always let in, and DNS, which is no
 * pod here, can always be asked.
 */
import type { V1LabelSelector, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '@kubernetes/client-node';
import { type NetworkPolicy, namespaceOf, type Pod, type Resource } from '../objects.ts';

export interface PolicyFacts {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Resource[];
}

type Direction = 'Ingress' | 'Egress';

interface Peer {
  readonly peers: readonly V1NetworkPolicyPeer[];
  readonly ports: readonly V1NetworkPolicyPort[];
}

/** The table, as `nft -f` takes it. */
export function policyTable({ policies, pods, namespaces }: PolicyFacts): string {
  const addressed = pods.filter(({ status: { podIP, phase } }) => podIP !== undefined && phase === 'Running');
  const book: Book = { pods: addressed, namespaces: new Map(namespaces.map((each) => [each.metadata.name, each])) };
  const chains: string[] = [];
  const maps: Record<Direction, string[]> = { Ingress: [], Egress: [] };
  for (const pod of addressed) {
    for (const direction of ['Ingress', 'Egress'] as const) {
      const selecting = policies.filter((policy) => selects(policy, pod, direction));
      if (selecting.length === 0) continue;
      const name = `${direction.toLowerCase()}-${pod.metadata.uid.slice(0, 8)}`;
      const rules = selecting.flatMap((policy) => rulesOf(policy, { pod, direction, book }));
      chains.push(`chain ${name} { ${[...new Set(rules)].map((rule) => `${rule} return;`).join(' ')} drop; }`);
      maps[direction].push(`${pod.status.podIP} : jump ${name}`);
    }
  }
  const judge = (field: string, verdicts: readonly string[]): string =>
    verdicts.length === 0 ? '' : `ip ${field} vmap { ${verdicts.join(', ')} };`;
  const leave = judge('saddr', maps.Egress);
  return `
table ip policies
delete table ip policies
table ip policies {
  ${chains.join('\n  ')}
  chain between-pods { type filter hook forward priority filter; ct direction reply accept; ${leave} ${judge('daddr', maps.Ingress)} }
  chain to-machine { type filter hook input priority filter; ct direction reply accept; udp dport 53 accept; ${leave} }
}
`;
}

interface Book {
  readonly pods: readonly Pod[];
  readonly namespaces: ReadonlyMap<string, Resource>;
}

function selects({ metadata, spec }: NetworkPolicy, pod: Pod, direction: Direction): boolean {
  const types = spec.policyTypes ?? ['Ingress'];
  const isOfNamespace = namespaceOf({ metadata }) === namespaceOf(pod);
  return isOfNamespace && types.includes(direction) && matches(spec.podSelector ?? {}, pod);
}

/** What a policy allows, as conditions of nft. */
function rulesOf(
  policy: NetworkPolicy,
  { pod, direction, book }: { readonly pod: Pod; readonly direction: Direction; readonly book: Book },
): readonly string[] {
  const { ingress = [], egress = [] } = policy.spec;
  const allowed: readonly Peer[] =
    direction === 'Ingress'
      ? ingress.map(({ _from, ports = [], ...raw }) => ({ peers: _from ?? fromOf(raw), ports }))
      : egress.map(({ to = [], ports = [] }) => ({ peers: to, ports }));
  return allowed.flatMap(({ peers, ports }) => {
    const conditions = portsOf(ports, direction === 'Ingress' ? [pod] : book.pods);
    const far = direction === 'Ingress' ? 'ip saddr' : 'ip daddr';
    const sides = peers.length === 0 ? [''] : peers.flatMap((peer) => sidesOf(peer, { policy, book, far }));
    return sides.flatMap((side) => conditions.map((condition) => `${side} ${condition}`.trim()));
  });
}

/** `from` in the JSON of the API server; the typed model calls it otherwise. */
function fromOf(raw: object): readonly V1NetworkPolicyPeer[] {
  const { from = [] } = raw as { readonly from?: readonly V1NetworkPolicyPeer[] };
  return from;
}

function portsOf(ports: readonly V1NetworkPolicyPort[], pods: readonly Pod[]): readonly string[] {
  if (ports.length === 0) return [''];
  return ports.flatMap(({ port, endPort, protocol = 'TCP' }) => {
    const kind = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${kind}`];
    if (typeof port === 'number') return [`${kind} dport ${port}${endPort === undefined ? '' : `-${endPort}`}`];
    const named = pods.flatMap(({ spec }) => spec.containers.flatMap((container) => container.ports ?? []));
    const numbers = new Set(named.flatMap(({ name, containerPort }) => (name === port ? [containerPort] : [])));
    return [...numbers].map((number) => `${kind} dport ${number}`);
  });
}

/** Conditions on the address at the other end; none when nobody is meant. */
function sidesOf(
  { ipBlock, podSelector, namespaceSelector }: V1NetworkPolicyPeer,
  { policy, book, far }: { readonly policy: NetworkPolicy; readonly book: Book; readonly far: string },
): readonly string[] {
  const { pods, namespaces } = book;
  if (ipBlock !== undefined) {
    const { cidr, except = [] } = ipBlock;
    return [`${far} ${cidr}${except.length === 0 ? '' : ` ${far} != { ${except.join(', ')} }`}`];
  }
  const matching = pods.filter((pod) => {
    const namespace = namespaces.get(namespaceOf(pod));
    const isNear =
      namespaceSelector === undefined
        ? namespaceOf(pod) === namespaceOf(policy)
        : namespace !== undefined && matches(namespaceSelector, namespace);
    return isNear && matches(podSelector ?? {}, pod);
  });
  const addresses = matching.flatMap(({ status: { podIP } }) => podIP ?? []);
  return addresses.length === 0 ? [] : [`${far} { ${[...new Set(addresses)].join(', ')} }`];
}

function matches({ matchLabels = {}, matchExpressions = [] }: V1LabelSelector, { metadata }: Resource): boolean {
  const labels = metadata.labels ?? {};
  const isEqual = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    isEqual &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isIn = value !== undefined && values.includes(value);
      return operator === 'In' ? isIn : !isIn;
    })
  );
}
