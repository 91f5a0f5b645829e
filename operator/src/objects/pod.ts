/**
 * The template of the pods. Any change of it replaces the pods of a cluster, one after the other, so it depends on the
 * spec and on nothing else of the operator (test/operator/objects/template.test.ts).
 */
import type { CairnCluster } from '../api/index.ts';
import { defined, sha256Of } from '../kube/index.ts';
import { environmentOf, type Mount, mountsOf, pathIn } from './environment.ts';
import { CONTAINER, DATA_VOLUME, namesOf, PORTS, type Pool, podLabels, selectorLabels } from './names.ts';
import type { ClusterFacts } from './owned.ts';
import { merged } from './strategic-merge.ts';

/** Time after a drain in which the node stops. */
const STOP_SECONDS = 40;
/** Time in which Services and load balancers notice that a pod stops. */
const LINGER_SECONDS = 5;
/** Readable by the group of the node only. */
const SECRET_MODE = 0o440;
const USER = 65_532;

const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};

const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

const PROBES = {
  startupProbe: { path: '/startupz', periodSeconds: 1, failureThreshold: 3600 },
  livenessProbe: { path: '/livez', periodSeconds: 10, failureThreshold: 6 },
  readinessProbe: { path: '/readyz', periodSeconds: 2, failureThreshold: 3 },
};
const PROBE_TIMEOUT_SECONDS = 5;

/** Grants of the roles of an identity provider, as the node reads them; undefined without any. */
export function grantsOf({ spec: { auth } }: CairnCluster): string | undefined {
  if (auth.roles === undefined) return undefined;
  const ofRole = auth.roles.map(({ name, grants }): [string, readonly string[]] => [
    name,
    grants.map(({ role, databases }) => `${role}:${databases}`),
  ]);
  return JSON.stringify(Object.fromEntries(ofRole));
}

type ImageFacts = Pick<ClusterFacts, 'defaultImage'>;

export function podTemplate(cluster: CairnCluster, facts: ImageFacts, pool: Pool = 'voters'): object {
  const { spec } = cluster;
  const grants = grantsOf(cluster);
  const mounts = mountsOf(cluster, grants === undefined ? undefined : namesOf(cluster).grants);
  const annotations = defined({
    'kubectl.kubernetes.io/default-container': CONTAINER,
    // A node reads the grants at its start.
    'checksum/grants': grants && sha256Of(grants),
    'cairn.dev/restart-key': spec.restartKey,
  });
  const { affinity, nodeSelector, tolerations, priorityClassName, hostUsers } = spec.placement;
  const template = {
    metadata: { labels: podLabels(cluster, pool), annotations },
    spec: defined({
      serviceAccountName: cluster.metadata.name,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: spec.update.drainTimeoutSeconds + STOP_SECONDS,
      hostUsers,
      affinity,
      nodeSelector,
      tolerations,
      priorityClassName,
      imagePullSecrets: spec.image.pullSecretNames?.map((name) => ({ name })),
      securityContext: POD_SECURITY,
      topologySpreadConstraints: spreadOf(cluster, pool),
      containers: [container(cluster, facts, pool, mounts)],
      volumes: [{ name: 'tmp', emptyDir: {} }, ...mounts.map(volumeOf)],
    }),
  };
  return merged(template, spec.podTemplate ?? {});
}

function container(cluster: CairnCluster, facts: ImageFacts, pool: Pool, mounts: readonly Mount[]): object {
  const { image, network, resources, tls, update, version } = cluster.spec;
  const suffix = image.digest === undefined ? `:${version}` : `@${image.digest}`;
  const scheme = tls.disabled ? 'HTTP' : 'HTTPS';
  const probes = Object.entries(PROBES).map(([name, { path, ...numbers }]) => {
    const httpGet = { path, port: 'metrics', scheme };
    return [name, { httpGet, timeoutSeconds: PROBE_TIMEOUT_SECONDS, ...numbers }] as const;
  });
  const ports = Object.entries(PORTS).filter(([name]) => name !== 'mcp' || network.mcp);
  const drain = [`--timeout=${update.drainTimeoutSeconds}`, `--linger=${LINGER_SECONDS}`];
  return {
    name: CONTAINER,
    image: `${image.repository ?? facts.defaultImage}${suffix}`,
    imagePullPolicy: image.pullPolicy,
    env: environmentOf(cluster, pool),
    envFrom: [{ configMapRef: { name: namesOf(cluster).founding } }],
    ports: ports.map(([name, containerPort]) => ({ name, containerPort })),
    ...Object.fromEntries(probes),
    lifecycle: { preStop: { exec: { command: ['cairn', 'cluster', 'drain', '--stay', ...drain] } } },
    resources,
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: DATA_VOLUME, mountPath: '/var/lib/cairn' },
      { name: 'tmp', mountPath: '/tmp' },
      ...mounts.map(({ name }) => ({ name, mountPath: pathIn(name), readOnly: true })),
    ],
  };
}

function volumeOf({ name, secret, configMap }: Mount): object {
  if (configMap !== undefined) return { name, configMap: { name: configMap } };
  return { name, secret: { secretName: secret, defaultMode: SECRET_MODE } };
}

function spreadOf(cluster: CairnCluster, pool: Pool): readonly object[] {
  const { spread, topologySpreadConstraints: further = [] } = cluster.spec.placement;
  const labelSelector = { matchLabels: selectorLabels(cluster, pool) };
  return [
    { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: spread.node, labelSelector },
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: spread.zone, labelSelector },
    ...further.map((constraint) => ({ labelSelector, ...constraint })),
  ];
}
