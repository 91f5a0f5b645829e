/** The pod that runs `cairn recover` on the volume of one node, while the nodes of the cluster are stopped. */
import type { CairnCluster } from '../api/index.ts';
import { defined, type KubeObject, type Wanted } from '../kube/index.ts';
import { CONTAINER, DATA_VOLUME, namesOf } from './names.ts';
import { type ClusterFacts, metadataOf } from './owned.ts';
import { podTemplate } from './pod.ts';

/** One run of the command, as spec.recovery asks for it. */
export interface RecoveryRun {
  readonly id: string;
  readonly survivor: string;
  /** Absent: the command only shows what would be lost. */
  readonly acceptLoss?: string | undefined;
}

/** Annotations of the pod, with its run. Each has a text, so that none can be malformed. */
const ID = 'cairn.dev/recovery-id';
const SURVIVOR = 'cairn.dev/recovery-survivor';
const ACCEPT_LOSS = 'cairn.dev/recovery-accept-loss';

type Fields = Readonly<Record<string, unknown>>;

interface Template {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: Fields & { readonly containers: readonly Fields[]; readonly volumes: readonly object[] };
}

/** Fields of a node that serves. */
const SERVING = new Set(['args', 'startupProbe', 'livenessProbe', 'readinessProbe', 'lifecycle', 'ports']);

/** It is the pod of a node, so it runs wherever that can, with another command and without what only a node needs. */
export function recoveryPodOf(
  cluster: CairnCluster,
  facts: Pick<ClusterFacts, 'defaultImage'>,
  { id, survivor, acceptLoss }: RecoveryRun,
): Wanted {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a template of pods
  const { metadata, spec } = podTemplate(cluster, facts) as Template;
  const found = spec.containers.find(({ name }) => name === CONTAINER) ?? {};
  const container = Object.fromEntries(Object.entries(found).filter(([field]) => !SERVING.has(field)));
  const { initContainers: _inits, topologySpreadConstraints: _spread, ...rest } = spec;
  const data = { name: DATA_VOLUME, persistentVolumeClaim: { claimName: `${DATA_VOLUME}-${survivor}` } };
  const run = defined({ [ID]: id, [SURVIVOR]: survivor, [ACCEPT_LOSS]: acceptLoss });
  const annotations = { ...metadata.annotations, ...run };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(cluster, { name: namesOf(cluster).recovery, component: 'recovery', annotations }),
    spec: {
      ...rest,
      restartPolicy: 'Never',
      volumes: [...spec.volumes, data],
      containers: [
        {
          ...container,
          command: ['cairn', 'recover', ...(acceptLoss === undefined ? [] : [`--accept-loss=${acceptLoss}`])],
          // The last lines of the command are in the status of the pod when it refuses.
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ],
    },
  };
}

/** The run of the pod; undefined when other parties have removed it. */
export function runOf({ metadata: { annotations = {} } }: KubeObject): RecoveryRun | undefined {
  const { [ID]: id, [SURVIVOR]: survivor, [ACCEPT_LOSS]: acceptLoss } = annotations;
  return id === undefined || survivor === undefined ? undefined : { id, survivor, acceptLoss };
}
