/** CairnCluster: nodes with a volume each, and how they are reached, placed, upgraded and repaired. */
import {
  AGE,
  API_VERSION,
  CLUSTER_NAME,
  CLUSTER_NAME_MAX,
  commonStatus,
  labels,
  objectName,
  RESOURCES,
  readyColumns,
  reclaimPolicy,
  size,
} from './fragments.ts';
import { NETWORK } from './network.ts';
import { PLACEMENT } from './placement.ts';
import * as f from './schema.ts';
import { AUTH, PEERS, TLS } from './security.ts';

/** A rule, and no pattern: the API server would show a regular expression to a person. */
const IS_VERSION = "self.matches('^((0|[1-9][0-9]{0,3})[.]){2}(0|[1-9][0-9]{0,3})(-[0-9A-Za-z.-]+)?$')";
const NOT_A_VERSION = 'version must be a release of Cairn, such as 0.1.0 or 0.2.0-rc.1';
const DAY_SECONDS = 86_400;
/** Kubernetes gives pods a label with the name of their StatefulSet, NAME-learners, and a hash of ten characters. */
const LEARNERS_NAME_MAX = CLUSTER_NAME_MAX - 5;

/** Settings that follow from other fields, or from the pod. */
export const SET_BY_OPERATOR: readonly string[] = [
  'dataDir host grpcPort httpPort mcpPort metricsPort metricsHost peerPort peerHost advertiseHost bootstrap',
  'join learner zone nodeName auth authBootstrapKeyFile authGrantsFile tlsCertFile tlsKeyFile tlsCaFile tlsClientCaFile',
  'tlsClientAuth peerTlsCertFile peerTlsKeyFile peerTlsCaFile peerSecretFile peerTls',
].flatMap((names) => names.split(' '));

/** Allows one minor release up or down, and the step between a major release and the first minor of the next. */
function versionRule(): f.Rule {
  const part = (of: string, at: number): string => `int(${of}.split('.')[${at}])`;
  const [major, oldMajor] = [part('self', 0), part('oldSelf', 0)];
  const [minor, oldMinor] = [part('self', 1), part('oldSelf', 1)];
  const sameMajor = `${minor} - ${oldMinor} <= 1 && ${oldMinor} - ${minor} <= 1`;
  const nextMajor = `${major} - ${oldMajor} == 1 && ${minor} == 0`;
  const lastMajor = `${oldMajor} - ${major} == 1 && ${oldMinor} == 0`;
  return {
    rule: `!${IS_VERSION} || (${major} == ${oldMajor} ? (${sameMajor}) : ((${nextMajor}) || (${lastMajor})))`,
    message: 'version can go one minor release up or down at a time: set the next one first',
  };
}

const IMAGE: f.Shape = f.shape('Image', {
  'repository?': f.text(
    'Repository, such as registry.example.com/team/cairn. The default is the repository that the operator was installed with.',
    512,
    { min: 1, pattern: '^[a-z0-9]([a-zA-Z0-9._/:-]*[a-z0-9])?$' },
  ),
  'digest?': f.text('Digest of the image, used instead of the version as its tag. Change both together.', 71, {
    pattern: '^sha256:[0-9a-f]{64}$',
  }),
  pullPolicy: f.choice('Pull policy of the image.', ['IfNotPresent', 'Always', 'Never'], { default: 'IfNotPresent' }),
  'pullSecretNames?': f.list('Secrets for the registry.', objectName('The name of a Secret.'), 16, { merge: 'set' }),
});

const GROWTH: f.Shape = f.shape('StorageGrowth', {
  maxSize: size('Size up to which volumes are grown.'),
  thresholdPercent: f.wholeNumber('Share of the volume that is in use when the operator grows it.', 50, 95, {
    default: 80,
  }),
});

const STORAGE: f.Shape = f.shape(
  'Storage',
  {
    size: size('Size of the volume of each node. It can be raised at any time, and cannot be lowered.', {
      default: '20Gi',
    }),
    'storageClassName?': objectName(
      'Storage class; by default that of the Kubernetes cluster. Use local or block storage that allows expansion. A change applies to new volumes.',
    ),
    'autoGrow?': f.object('Automatic growth of volumes that are nearly full.', GROWTH),
  },
  [
    {
      rule: 'quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0',
      message: 'size cannot be lowered, because volumes cannot shrink: set what it was, or more',
    },
    {
      rule: '!has(self.autoGrow) || quantity(self.autoGrow.maxSize).compareTo(quantity(self.size)) >= 0',
      message: 'autoGrow.maxSize must be at least size: raise it, or remove autoGrow',
    },
  ],
);

const UPDATE: f.Shape = f.shape('Update', {
  strategy: f.choice(
    'Rolling: the operator replaces one pod after the other, and moves leaderships off each first. OnDelete: a pod is replaced after it has been deleted.',
    ['Rolling', 'OnDelete'],
    { default: 'Rolling' },
  ),
  paused: f.flag('true: no further pod is replaced. The replacement of a pod that has begun is finished.', {
    default: false,
  }),
  drainTimeoutSeconds: f.wholeNumber('Time that a pod has to transfer its leaderships before it stops.', 10, 3600, {
    default: 80,
  }),
  stableSeconds: f.wholeNumber('Time that a replaced pod must be ready before the next one is replaced.', 0, 3600, {
    default: 30,
  }),
  finalize: f.choice(
    'Point at which an upgrade becomes final; the previous release cannot run afterwards. Automatic: finalizeAfterSeconds after all nodes run the new release. Manual: when you run cairn cluster finalize.',
    ['Automatic', 'Manual'],
    { default: 'Automatic' },
  ),
  finalizeAfterSeconds: f.wholeNumber(
    'Time for which a rollback stays possible, with finalize: Automatic.',
    0,
    30 * DAY_SECONDS,
    { default: 3600 },
  ),
});

const REPAIR: f.Shape = f.shape('Repair', {
  policy: f.choice(
    'Automatic: the operator replaces a node that has lost its volume or its Kubernetes node by one with an empty volume, as long as the other nodes have a quorum. Manual: the node stays as it is until you act.',
    ['Automatic', 'Manual'],
    { default: 'Automatic' },
  ),
  afterSeconds: f.wholeNumber('Time that a node must be lost before it is replaced.', 60, 7 * DAY_SECONDS, {
    default: 600,
  }),
});

const RECOVERY: f.Shape = f.shape(
  'Recovery',
  {
    id: f.text('Any text. The operator recovers once for each id, and then sets status.recoveryID to it.', 63, {
      min: 1,
    }),
    survivor: f.text('Name of the pod whose data the cluster continues with.', 63, { min: 1 }),
    acknowledgeDataLoss: f.flag('Must be true: transactions that only the lost nodes had are lost by the recovery.'),
    'acceptLoss?': f.text(
      'Only when the catalog has lost its quorum for good: the code that the condition Progressing shows, with the reason LossNotAccepted. The cluster then continues with the data of the survivor alone, and the volumes of all other pods are deleted.',
      8,
      { pattern: '^[0-9a-f]{8}$' },
    ),
  },
  [
    {
      rule: 'self.acknowledgeDataLoss',
      message: 'set acknowledgeDataLoss to true: transactions that only the lost nodes had are lost by a recovery',
    },
  ],
);

const MONITORING: f.Shape = f.shape('Monitoring', {
  mode: f.choice(
    'Objects for the Prometheus operator: a monitor and alerts. Auto: only where the Kubernetes cluster serves its API.',
    ['Auto', 'Always', 'Never'],
    { default: 'Auto' },
  ),
  scrapeBy: f.choice('Kind of object by which Prometheus finds the metrics.', ['ServiceMonitor', 'PodMonitor'], {
    default: 'ServiceMonitor',
  }),
  interval: f.text('Time between two scrapes of the metrics.', 16, {
    min: 2,
    pattern: '^[0-9]+(ms|s|m)$',
    default: '30s',
  }),
  'labels?': labels('Labels by which your Prometheus selects the objects, such as `release: prometheus`.'),
  'disabledAlerts?': f.list(
    'Names of alerts that are left out.',
    f.text('The name of an alert.', 128, { min: 1 }),
    128,
    { merge: 'set' },
  ),
  'runbooksURL?': f.text('Prefix of the pages that alerts link to, such as https://wiki.example.com/cairn/.', 1024, {
    min: 1,
  }),
  dashboards: f.flag('true: ConfigMaps with dashboards for Grafana are created.', { default: false }),
});

const SPEC: f.Shape = f.shape(
  'CairnClusterSpec',
  {
    replicas: f.wholeNumber(
      'Number of nodes. 3 nodes stay available when one fails, 5 when two fail, 7 when three fail; a single node is unavailable while its pod restarts. A change restarts no pod.',
      1,
      7,
      {
        default: 3,
        rules: [
          {
            rule: 'self % 2 == 1',
            message: 'replicas must be 1, 3, 5 or 7: an even number tolerates no more failures than one less',
          },
        ],
      },
    ),
    learners: f.wholeNumber(
      'Number of further nodes that have a replica of every database, answer reads and do not vote. They add capacity for reads, and none for writes. A change restarts no pod.',
      0,
      50,
      { default: 0 },
    ),
    version: f.text(
      'Release of Cairn that the nodes run, such as 0.1.0. It is the tag of the image unless image.digest is set.',
      63,
      { rules: [{ rule: IS_VERSION, message: NOT_A_VERSION }, versionRule()] },
    ),
    image: f.object('The image of the nodes.', IMAGE, { default: {} }),
    storage: f.object('The volume of each node.', STORAGE, { default: {} }),
    resources: f.object(
      'Resources of a node. Do not limit cpu: a throttled node misses heartbeats. A node sizes its memory by the limit.',
      RESOURCES,
      { default: { requests: { cpu: '250m', memory: '1Gi' }, limits: { memory: '1Gi' } } },
    ),
    tls: f.object(
      'TLS at the ports for clients. By default the operator issues certificates by an authority of this cluster and renews them; status.caSecretName names the Secret with the authority.',
      TLS,
      { default: {} },
    ),
    peers: f.object(
      'Authentication between the nodes. By default the nodes share a secret that the operator creates.',
      PEERS,
      { default: {} },
    ),
    auth: f.object('Authentication and authorization of clients.', AUTH, { default: {} }),
    network: f.object('Services, names and access from the network.', NETWORK, { default: {} }),
    placement: f.object('Placement of the pods on Kubernetes nodes.', PLACEMENT, { default: {} }),
    'config?': f.map(
      'Settings of the nodes by their names in docs/configuration.md, such as `rateLimitPerSecond: 100`. A change restarts the pods, one after the other. Write on, off and fractions in quotes.',
      f.numberOrText('The value.', 4096),
      64,
      {
        rules: [
          {
            rule: `!self.exists(name, name in ['${SET_BY_OPERATOR.join("', '")}'])`,
            message:
              'config cannot have settings that the operator derives from other fields, such as dataDir, join, auth, peerPort or tlsCertFile: remove them',
          },
        ],
      },
    ),
    'podTemplate?': f.anyObject(
      'Merged into the template of the pods, as kubectl patch does (strategic merge); the container is called cairn.',
    ),
    monitoring: f.object('Objects for the Prometheus operator and for Grafana.', MONITORING, { default: {} }),
    update: f.object('Replacement of pods by an upgrade or another change.', UPDATE, { default: {} }),
    repair: f.object('Replacement of lost nodes.', REPAIR, { default: {} }),
    'restartKey?': f.text('Any text. A change restarts the pods, one after the other.', 63, { min: 1 }),
    'recovery?': f.object(
      'Recovery with the data of one node, when most replicas of databases are lost for good. When most voters of the catalog are lost, all nodes are stopped first, and acceptLoss is needed, too.',
      RECOVERY,
    ),
    reclaimPolicy: reclaimPolicy('Whether the volumes are kept or deleted when the CairnCluster is deleted.'),
  },
  [
    {
      rule: "!has(self.network.external) || !has(self.config) || !('advertiseOutside' in self.config)",
      message: 'network.external decides where clients find each node: remove config.advertiseOutside',
    },
  ],
);

const MEMBER: f.Shape = f.shape('Member', {
  name: f.text('The name of the pod.', 63),
  'id?': f.wholeNumber('Number of the node, as in cairn cluster status.', 0, 4_294_967_295),
  'role?': f.choice('Part of the node in the Raft group of the catalog.', ['Voter', 'Learner', 'None']),
  'version?': f.text('The release that the node runs.', 63),
  'zone?': f.text('The zone that the node is in.', 63),
  ready: f.flag('true: the pod is ready.'),
});

const ENDPOINTS: f.Shape = f.shape('Endpoints', {
  'grpc?': f.text('Address of gRPC, as host:port.', 512),
  'http?': f.text('URL of HTTP.', 512),
  'mcp?': f.text('URL of MCP.', 512),
});

const CONDITIONS = {
  Ready: 'All nodes are ready, and the cluster takes writes.',
  QuorumHealthy: 'A majority of the nodes answers, and no database lacks a quorum.',
  Progressing: 'The operator is changing something: nodes, pods or volumes.',
  VersionUniform: 'All nodes run spec.version, and the upgrade to it is final.',
  TLSReady: 'Certificates are valid and are renewed in time.',
  StorageHealthy: 'All volumes have the size that they should have, and room.',
  ComponentsSynced: 'No node refuses a component of an active version.',
  ConfigurationApplied: 'All pods run with what the spec says.',
  Quiesced: 'The operator has nothing left to do for this generation.',
  Stable: 'Ready, ConfigurationApplied, VersionUniform and Quiesced: what a pipeline waits for.',
};

const STATUS: f.Shape = f.shape('CairnClusterStatus', {
  ...commonStatus(CONDITIONS),
  'replicas?': f.wholeNumber('Number of pods, without learners.', 0, 100),
  'readyReplicas?': f.wholeNumber('Number of pods that are ready, without learners.', 0, 100),
  'learners?': f.wholeNumber('Number of pods of learners.', 0, 100),
  'readyLearners?': f.wholeNumber('Number of pods of learners that are ready.', 0, 100),
  'selector?': f.text('The labels of the pods, as a selector.', 512),
  'version?': f.text('The release that all nodes run; the oldest one during an upgrade.', 63),
  'targetVersion?': f.text('The release that the nodes are brought to.', 63),
  'clusterID?': f.text('The id that the cluster was founded with.', 64),
  'members?': f.list('Nodes, in the order of their names.', f.object('One node.', MEMBER), 100, {
    merge: { keys: ['name'] },
  }),
  'endpoints?': f.object('Addresses of the Service for clients.', ENDPOINTS),
  'adminSecretName?': f.text('The Secret with the key of the first administrator, as bootstrap-key.', 253),
  'caSecretName?': f.text('The Secret with the authority of the certificates, as ca.crt.', 253),
  'storageSize?': f.text('Size of the volumes. It exceeds spec.storage.size after automatic growth.', 32),
  'finalVersion?': f.text('The lowest release that can run: the upgrade to it is final, or becomes so next.', 63),
  'finalLevel?': f.wholeNumber('The feature level that finalVersion brings.', 0, 4_294_967_295),
  'recoveryID?': f.text('The id of the last recovery that was carried out.', 63),
  'recoveryStage?': f.choice(
    'Stage of a recovery of the catalog, during which all nodes are stopped. Stopped: nothing has changed yet. Founded: there is a new cluster with the data of recoverySurvivor.',
    ['Stopped', 'Founded'],
  ),
  'recoverySurvivor?': f.text('The pod whose data the new cluster has, with recoveryStage Founded.', 63),
});

export const CAIRN_CLUSTER: f.ResourceKind = {
  apiVersion: API_VERSION,
  kind: 'CairnCluster',
  plural: 'cairnclusters',
  shortNames: ['ccl'],
  doc: 'A cluster of Cairn: nodes that hold the same databases, each with a volume of its own.',
  spec: SPEC,
  specDoc: 'Desired state of the cluster.',
  status: STATUS,
  rules: [
    {
      rule: `self.metadata.name.size() <= ${CLUSTER_NAME_MAX} && self.metadata.name.matches('${CLUSTER_NAME}')`,
      message: `metadata.name must be a lowercase letter, then up to ${CLUSTER_NAME_MAX - 1} lowercase letters, digits or hyphens, without a hyphen at the end`,
    },
    {
      rule: `self.spec.learners == 0 || self.metadata.name.size() <= ${LEARNERS_NAME_MAX}`,
      message: `learners must be 0 when metadata.name has more than ${LEARNERS_NAME_MAX} characters: the names of their pods would be too long`,
    },
    {
      rule: "!has(self.spec.recovery) || !self.spec.recovery.survivor.startsWith(self.metadata.name + '-learners-')",
      message: 'recovery.survivor must be a node that votes, such as NAME-0: a learner cannot continue a cluster alone',
    },
  ],
  conditions: CONDITIONS,
  columns: [
    ...readyColumns('cluster', CONDITIONS.Ready),
    f.column('Version', '.status.version', 'The release that all nodes run.'),
    f.column('Members', '.status.readyReplicas', 'Number of nodes that are ready.', { type: 'integer' }),
    f.column('Replicas', '.spec.replicas', 'Number of nodes that there should be.', { type: 'integer', isWide: true }),
    f.column('Learners', '.status.readyLearners', 'Number of learners that are ready.', {
      type: 'integer',
      isWide: true,
    }),
    f.column('Target', '.status.targetVersion', 'The release to come.', { isWide: true }),
    f.column('Stable', '.status.conditions[?(@.type=="Stable")].status', CONDITIONS.Stable, { isWide: true }),
    f.column('Cluster ID', '.status.clusterID', 'The id of the cluster.', { isWide: true }),
    AGE,
  ],
  scale: { spec: '.spec.replicas', status: '.status.replicas', selector: '.status.selector' },
};
