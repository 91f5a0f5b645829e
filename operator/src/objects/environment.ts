/**
 * Environment variables of a node: those that follow from fields of the spec, and those of `config`. A variable that
 * changes restarts the pods, so values that may change while pods run are in the founding ConfigMap.
 */
import type { CairnCluster } from '../api/index.ts';
import { KEYS, mountedSecrets, PORTS, type Pool, podDomain, podNames } from './names.ts';
import type { ClusterFacts } from './owned.ts';

/** A volume at /etc/cairn, and the Secret or ConfigMap in it. */
export interface Mount {
  readonly name: string;
  readonly secret?: string;
  readonly configMap?: string;
}

export function mountsOf(cluster: CairnCluster, grants: string | undefined): readonly Mount[] {
  const { tls, peers } = cluster.spec;
  const { auth, peer, tls: tlsSecret, clientCa } = mountedSecrets(cluster);
  const mounts = [
    auth !== undefined && { name: 'auth', secret: auth },
    { name: 'peer', secret: peer },
    peers.caConfigMapName !== undefined && { name: 'peer-ca', configMap: peers.caConfigMapName },
    tlsSecret !== undefined && { name: 'tls', secret: tlsSecret },
    tls.caConfigMapName !== undefined && { name: 'tls-ca', configMap: tls.caConfigMapName },
    clientCa !== undefined && { name: 'client-ca', secret: clientCa },
    grants !== undefined && { name: 'grants', configMap: grants },
  ];
  return mounts.filter((mount) => mount !== false);
}

export function pathIn(mount: string, file = ''): string {
  return `/etc/cairn/${mount}${file === '' ? '' : `/${file}`}`;
}

/** Variables of learners. The variable of the container has precedence over that of the founding ConfigMap. */
const LEARNER = { CAIRN_LEARNER: 'true', CAIRN_BOOTSTRAP: 'never' };

export function environmentOf(cluster: CairnCluster, pool: Pool): readonly object[] {
  const { config = {} } = cluster.spec;
  const fixed = Object.entries({ ...listeners(cluster), ...security(cluster), ...(pool === 'learners' && LEARNER) });
  const ofConfig = Object.entries(config).map(([key, value]): [string, string] => [variableOf(key), String(value)]);
  return [
    { name: 'CAIRN_NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'CAIRN_ADVERTISE_HOST', value: `$(CAIRN_NODE_NAME).${podDomain(cluster)}` },
    // From Kubernetes 1.35 on pods have the zone of their Kubernetes node as a label; otherwise the variable is empty.
    { name: 'CAIRN_ZONE', valueFrom: { fieldRef: { fieldPath: "metadata.labels['topology.kubernetes.io/zone']" } } },
    ...[...fixed, ...ofConfig].map(([name, value]) => ({ name, value })),
  ];
}

/** `rateLimitPerSecond` is CAIRN_RATE_LIMIT_PER_SECOND. */
function variableOf(key: string): string {
  return `CAIRN_${key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;
}

function listeners({ spec: { network } }: CairnCluster): Readonly<Record<string, string>> {
  const { external, ipFamily, mcp } = network;
  return {
    CAIRN_DATA_DIR: '/var/lib/cairn',
    CAIRN_HOST: ipFamily === 'IPv6' ? '::' : '0.0.0.0',
    CAIRN_GRPC_PORT: `${PORTS.grpc}`,
    CAIRN_HTTP_PORT: `${PORTS.http}`,
    CAIRN_MCP_PORT: mcp ? `${PORTS.mcp}` : 'off',
    CAIRN_METRICS_PORT: `${PORTS.metrics}`,
    CAIRN_PEER_PORT: `${PORTS.peer}`,
    ...(external && { CAIRN_ADVERTISE_OUTSIDE: `*.${external.domain}:${external.port ?? PORTS.grpc}` }),
  };
}

function security({ spec: { auth, peers, tls } }: CairnCluster): Readonly<Record<string, string>> {
  const hasPeerCertificate = peers.issuerRef !== undefined || peers.secretName !== undefined;
  const { authority, certificate, privateKey } = KEYS;
  return {
    ...(auth.enabled && { CAIRN_AUTH: 'on', CAIRN_AUTH_BOOTSTRAP_KEY_FILE: pathIn('auth', KEYS.adminKey) }),
    ...(auth.roles && { CAIRN_AUTH_GRANTS_FILE: pathIn('grants', 'grants.json') }),
    ...(!hasPeerCertificate && { CAIRN_PEER_SECRET_FILE: pathIn('peer', KEYS.peerSecret) }),
    ...(hasPeerCertificate && {
      CAIRN_PEER_TLS_CERT_FILE: pathIn('peer', certificate),
      CAIRN_PEER_TLS_KEY_FILE: pathIn('peer', privateKey),
      CAIRN_PEER_TLS_CA_FILE: pathIn(peers.caConfigMapName === undefined ? 'peer' : 'peer-ca', authority),
    }),
    ...(!tls.disabled && {
      CAIRN_TLS_CERT_FILE: pathIn('tls', certificate),
      CAIRN_TLS_KEY_FILE: pathIn('tls', privateKey),
      CAIRN_TLS_CA_FILE: pathIn(tls.caConfigMapName === undefined ? 'tls' : 'tls-ca', authority),
    }),
    ...(tls.clientCertificates && {
      CAIRN_TLS_CLIENT_AUTH: tls.clientCertificates.mode.toLowerCase(),
      CAIRN_TLS_CLIENT_CA_FILE: pathIn('client-ca', authority),
    }),
  };
}

/**
 * Variables by which pods with empty volumes found a cluster, or join one. All pods have the same list of voters, so
 * that exactly one of them founds. Once there is a cluster nothing founds another one, not even when all volumes are
 * lost.
 */
export function foundingOf(cluster: CairnCluster, facts: ClusterFacts): Readonly<Record<string, string>> {
  const { replicas, clusterID } = facts;
  const addresses = podNames(cluster, { replicas }).map((pod) => `${pod}.${podDomain(cluster)}:${PORTS.peer}`);
  return { CAIRN_BOOTSTRAP: clusterID === undefined ? 'alone' : 'never', CAIRN_JOIN: addresses.join(',') };
}
