/** Names, ports, labels and addresses by which the objects of a cluster find each other. */
import type { CairnCluster } from '../api/index.ts';

export const CONTAINER = 'cairn';
export const DATA_VOLUME = 'data';
export const OPERATOR = 'cairn-operator';

/** Nodes that vote, and nodes that only have replicas to read. Each pool has a StatefulSet of its own. */
export type Pool = 'voters' | 'learners';
export const POOLS: readonly Pool[] = ['voters', 'learners'];
/** Values of the label app.kubernetes.io/component of pods, which keep the selectors of the pools apart. */
export const COMPONENTS = { voters: 'node', learners: 'learner' } as const;

export const PORTS = { grpc: 50_051, http: 3000, mcp: 3001, metrics: 9464, peer: 50_052 } as const;
export type PortName = keyof typeof PORTS;

export const KEYS = {
  authority: 'ca.crt',
  certificate: 'tls.crt',
  privateKey: 'tls.key',
  adminKey: 'bootstrap-key',
  peerSecret: 'peer-secret',
} as const;

/** Parts of the names of objects after that of the cluster. */
const PARTS = {
  headless: 'headless',
  /** StatefulSet and PodDisruptionBudget of the learners. */
  learners: 'learners',
  founding: 'founding',
  grants: 'grants',
  /** Secret with the certificate of the nodes for clients. */
  tls: 'tls',
  /** Secret with the secret or the certificate of the nodes for each other. */
  peer: 'peer',
  /** Secret with the key of the first administrator. */
  auth: 'auth',
  /** Secret with the private key of the authority; no pod mounts it. */
  authority: 'authority',
  /** Secret with the trusted authorities of the nodes, for clients. */
  ca: 'ca',
  /** Secret with the authorities of clients and nodes. */
  clientCa: 'client-ca',
  /** Pod that runs `cairn recover`. */
  recovery: 'recovery',
} as const;

export function namesOf({ metadata: { name } }: CairnCluster): Readonly<Record<keyof typeof PARTS, string>> {
  const names = Object.entries(PARTS).map(([key, part]) => [key, `${name}-${part}`]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- entries of PARTS
  return Object.fromEntries(names) as Record<keyof typeof PARTS, string>;
}

type Labels = Readonly<Record<string, string>>;

/** Labels that the selectors of one pool match. They never change: the selector of a StatefulSet is immutable. */
export function selectorLabels({ metadata }: CairnCluster, pool: Pool = 'voters'): Labels {
  return {
    'app.kubernetes.io/name': 'cairn',
    'app.kubernetes.io/instance': metadata.name,
    'app.kubernetes.io/component': COMPONENTS[pool],
  };
}

/** Labels that match the pods of all nodes. With learners they match the pod of a recovery, too, which has no port. */
export function nodeLabels(cluster: CairnCluster, { learners }: { readonly learners?: number }): Labels {
  const { 'app.kubernetes.io/component': _ofVoters, ...common } = selectorLabels(cluster);
  return learners === undefined ? selectorLabels(cluster) : common;
}

/** Labels of pods, which do not depend on the release of the operator. */
export function podLabels(cluster: CairnCluster, pool: Pool = 'voters'): Labels {
  return {
    ...selectorLabels(cluster, pool),
    'app.kubernetes.io/version': cluster.spec.version.replace(/[-_.]+$/, ''),
    'app.kubernetes.io/part-of': 'cairn',
    'app.kubernetes.io/managed-by': OPERATOR,
  };
}

export function setName(cluster: CairnCluster, pool: Pool): string {
  return pool === 'voters' ? cluster.metadata.name : namesOf(cluster).learners;
}

export function podName(cluster: CairnCluster, ordinal: number, pool: Pool = 'voters'): string {
  return `${setName(cluster, pool)}-${ordinal}`;
}

/** Names of the pods of all nodes. */
export function podNames(
  cluster: CairnCluster,
  { replicas, learners = 0 }: { readonly replicas: number; readonly learners?: number },
): readonly string[] {
  const counts = { voters: replicas, learners };
  return POOLS.flatMap((pool) => Array.from({ length: counts[pool] }, (_, ordinal) => podName(cluster, ordinal, pool)));
}

/** The pool that a pod of this name belongs to; undefined when it is not the pod of a node. */
export function poolOf(cluster: CairnCluster, pod: string): Pool | undefined {
  const [, set] = /^(.*)-\d+$/.exec(pod) ?? [];
  return POOLS.find((pool) => setName(cluster, pool) === set);
}

export function podDomain(cluster: CairnCluster): string {
  return `${namesOf(cluster).headless}.${cluster.metadata.namespace}.svc.${cluster.spec.network.clusterDomain}`;
}

export function serviceHost({ metadata: { name, namespace }, spec }: CairnCluster): string {
  return `${name}.${namespace}.svc.${spec.network.clusterDomain}`;
}

export function clientPorts({ spec }: CairnCluster): readonly PortName[] {
  return spec.network.mcp ? ['grpc', 'http', 'mcp'] : ['grpc', 'http'];
}

/** DNS names in the certificate of the nodes for clients. */
export function certificateNames(cluster: CairnCluster): readonly string[] {
  const { metadata, spec } = cluster;
  const { name, namespace } = metadata;
  const names = [
    `*.${podDomain(cluster)}`,
    `*.${namesOf(cluster).headless}.${namespace}.svc`,
    serviceHost(cluster),
    `${name}.${namespace}.svc`,
    `${name}.${namespace}`,
    name,
    'localhost',
    ...(spec.network.external === undefined ? [] : [`*.${spec.network.external.domain}`]),
    ...(spec.tls.dnsNames ?? []),
  ];
  return [...new Set(names)];
}

/** DNS names in a certificate of cert-manager for the peer port. */
export function peerCertificateNames(cluster: CairnCluster): readonly string[] {
  return [`*.${podDomain(cluster)}`, podDomain(cluster)];
}

export function mountedSecrets(cluster: CairnCluster): {
  readonly tls: string | undefined;
  readonly peer: string;
  readonly auth: string | undefined;
  readonly clientCa: string | undefined;
} {
  const { tls, peers, auth } = cluster.spec;
  const own = namesOf(cluster);
  return {
    tls: tls.disabled ? undefined : (tls.secretName ?? own.tls),
    peer: peers.secretName ?? own.peer,
    auth: auth.enabled ? (auth.adminSecretName ?? own.auth) : undefined,
    clientCa: tls.clientCertificates === undefined ? undefined : own.clientCa,
  };
}
