/** Values of the pods themselves, their volumes and how they are replaced. */
import {
  anyObject,
  flag,
  type Group,
  group,
  objects,
  oneOf,
  quantity,
  text,
  textMap,
  texts,
  type Value,
  value,
  wholeNumber,
} from './value.ts';

const retention = oneOf('Retain', 'Delete');

function probe(doc: string, numbers: Readonly<Record<keyof typeof PROBE, number>>): Group {
  const number = (key: keyof typeof PROBE): Value => value(wholeNumber(1, 100_000), numbers[key], PROBE[key]);
  return group(doc, {
    periodSeconds: number('periodSeconds'),
    timeoutSeconds: number('timeoutSeconds'),
    failureThreshold: number('failureThreshold'),
  });
}

const PROBE = {
  periodSeconds: 'How often the kubelet asks.',
  timeoutSeconds: 'How long an answer may take.',
  failureThreshold: 'After how many failures in a row it counts.',
} as const;

const ROLLING: Group['members'] = {
  updateStrategy: group('How changed pods are replaced.', {
    type: value(
      oneOf('RollingUpdate', 'OnDelete'),
      'RollingUpdate',
      'RollingUpdate: Kubernetes replaces one pod after the other, each when the last one is ready. OnDelete: a pod is replaced after it has been deleted; for operators that choose the order.',
    ),
  }),
  minReadySeconds: value(wholeNumber(0, 3600), 5, 'How long a pod must be ready before the next one is replaced.'),
  terminationGracePeriodSeconds: value(
    wholeNumber(30, 3600),
    120,
    'How long a pod may take to hand over its leaderships and to stop.',
  ),
  drain: group('What a pod does before it is stopped.', {
    enabled: value(flag, true, 'Whether it hands over its leaderships first, while it still answers (preStop).'),
    timeoutSeconds: value(
      wholeNumber(1, 3600),
      80,
      'How long that may take. terminationGracePeriodSeconds must be at least 40 s more: the node then stops.',
    ),
    lingerSeconds: value(
      wholeNumber(0, 3600),
      5,
      'How long it takes at least: until Services and load balancers have noticed that the pod goes, so that no client meets a closed port. The only node of a cluster does not wait.',
    ),
  }),
  podDisruptionBudget: group('How many pods may be away at a time, such as while Kubernetes nodes are drained.', {
    enabled: value(
      flag,
      true,
      'Whether there is one. With fewer than 3 replicas there is none: it would block every drain.',
    ),
    maxUnavailable: value(wholeNumber(1, 99), 1, 'How many.'),
    unhealthyPodEvictionPolicy: value(
      oneOf('IfHealthyBudget', 'AlwaysAllow'),
      'IfHealthyBudget',
      'IfHealthyBudget: a pod that is not ready is evicted only while enough others are. AlwaysAllow: always.',
    ),
  }),
  probes: group(
    'How often the kubelet looks, at the port of the metrics. No probe asks for a quorum or for another pod.',
    {
      startup: probe('Until the store is open and the log is recovered, which takes longer with more data.', {
        periodSeconds: 1,
        timeoutSeconds: 5,
        failureThreshold: 3600,
      }),
      liveness: probe('Whether the process answers; it is restarted when not.', {
        periodSeconds: 10,
        timeoutSeconds: 5,
        failureThreshold: 6,
      }),
      readiness: probe('Whether the node takes requests of clients.', {
        periodSeconds: 2,
        timeoutSeconds: 5,
        failureThreshold: 3,
      }),
    },
  ),
};

const VOLUME: Group['members'] = {
  persistence: group('The volume of each pod. Most of it cannot be changed after the installation.', {
    enabled: value(flag, true, 'false: an emptyDir; a pod that is deleted loses its data, and joins the others again.'),
    size: value(quantity, '20Gi', 'Its size.'),
    storageClassName: value(
      text,
      '',
      'Its class. Empty: the default class of the cluster. Take local or block storage.',
    ),
    accessModes: value(texts, ['ReadWriteOnce'], 'How it is mounted.'),
    annotations: value(textMap, {}, 'Annotations of the claims.'),
    labels: value(textMap, {}, 'Labels of the claims.'),
    whenDeleted: value(retention, 'Retain', 'What becomes of the claims when the release is uninstalled.'),
    whenScaled: value(retention, 'Retain', 'What becomes of the claim of a pod when there are fewer replicas.'),
  }),
};

export const POD: Group['members'] = {
  resources: value(
    anyObject,
    { requests: { cpu: '250m', memory: '1Gi' }, limits: { memory: '1Gi' } },
    'What a node may use (docs/operations/memory.md). There is no limit of CPU: a throttled node misses heartbeats.',
  ),
  ...VOLUME,
  ...ROLLING,
  spread: group('How pods are spread: DoNotSchedule or ScheduleAnyway.', {
    node: value(
      oneOf('DoNotSchedule', 'ScheduleAnyway'),
      'DoNotSchedule',
      'Over Kubernetes nodes. DoNotSchedule: no Kubernetes node has two pods more than another one, also where that one is cordoned; a pod waits until then. ScheduleAnyway: only where possible.',
    ),
    zone: value(oneOf('DoNotSchedule', 'ScheduleAnyway'), 'ScheduleAnyway', 'Over zones.'),
  }),
  topologySpreadConstraints: value(objects, [], 'Further constraints.'),
  affinity: value(anyObject, {}, 'Affinity of the pods.'),
  nodeSelector: value(textMap, {}, 'Labels of the Kubernetes nodes to run on.'),
  tolerations: value(objects, [], 'Taints that the pods tolerate.'),
  priorityClassName: value(text, '', 'The priority of the pods.'),
  podLabels: value(textMap, {}, 'Labels of the pods.'),
  podAnnotations: value(textMap, {}, 'Annotations of the pods. A changed one restarts them, one after the other.'),
  extraEnv: value(objects, [], 'Variables of the container. The node refuses unknown ones that begin with CAIRN_.'),
  extraEnvFrom: value(objects, [], 'ConfigMaps and Secrets with variables.'),
  extraVolumes: value(objects, [], 'Volumes of the pod.'),
  extraVolumeMounts: value(objects, [], 'Where the container sees them.'),
  initContainers: value(objects, [], 'Containers that run before.'),
  extraContainers: value(objects, [], 'Containers that run beside.'),
  container: value(anyObject, {}, 'Merged into the container of the node; lists are replaced.'),
  podTemplate: value(anyObject, {}, 'Merged into the template of the pods; lists are replaced.'),
};
