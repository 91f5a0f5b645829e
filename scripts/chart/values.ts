/** Every value of the chart, in the order of values.yaml. */
import { RUNBOOKS_PATH } from '../observability/rules-file.ts';
import { POD } from './pod-values.ts';
import { REACH } from './reach-values.ts';
import { SECURITY } from './security-values.ts';
import { configSchema } from './settings.ts';
import {
  anyObject,
  autoOrFlag,
  flag,
  type Group,
  group,
  listOf,
  matching,
  objects,
  type Schema,
  text,
  textMap,
  texts,
  type Value,
  value,
  wholeNumber,
} from './value.ts';

export const NAMES: Group['members'] = {
  nameOverride: value(
    matching('^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$'),
    '',
    'Replaces the name of the chart in the names and labels of objects.',
  ),
  fullnameOverride: value(
    text,
    '',
    'Replaces the whole name of objects; without it the name of the release is part of it.',
  ),
  commonLabels: value(
    textMap,
    {},
    'Labels on every object, beside those of the chart. They are not in the pod template.',
  ),
  commonAnnotations: value(textMap, {}, 'Annotations on every object.'),
  clusterDomain: value(
    matching('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'),
    'cluster.local',
    'The DNS domain of the Kubernetes cluster.',
  ),
};

export function imageGroup(doc: string): Group {
  return group(doc, {
    registry: value(text, '', 'Stands before the repository, such as registry.example.com/team.'),
    repository: value(text, 'cairn', 'The repository.'),
    tag: value(
      { type: 'string', not: { const: 'latest' } },
      '',
      'The release. Without it that of the chart (appVersion). latest is refused, because it does not say which release runs.',
    ),
    digest: value(
      matching('^(sha256:[0-9a-f]{64})?$'),
      '',
      'The digest, such as sha256:…; it is used instead of the tag.',
    ),
    pullPolicy: value({ enum: ['IfNotPresent', 'Always', 'Never'] }, 'IfNotPresent', 'When the image is pulled.'),
    pullSecrets: value(listOf({ type: 'object', required: ['name'] }), [], 'Secrets for the registry, as `- name: …`.'),
  });
}

const CLUSTER: Group['members'] = {
  replicas: value(
    wholeNumber(1, 99),
    3,
    'How many nodes there are. 3 stay available when one of them fails, 5 when two do; 1 is not available while its pod restarts. Before you lower it, decommission the nodes with the highest ordinals (docs/operations/kubernetes.md). Changing it restarts no pod.',
  ),
  image: imageGroup('The image of a node.'),
  cluster: group('How the nodes form one cluster. Changes are read by a pod when it starts, and restart none.', {
    bootstrap: value(
      { enum: ['alone', 'never'] },
      'alone',
      'alone: pods with empty volumes found one cluster when all of them are empty, and otherwise join the one that there is. never: pods with empty volumes only join.',
    ),
    join: value(texts, [], 'Peer addresses host:port of the nodes to join, instead of those of this release.'),
  }),
  config: value(
    configSchema(),
    {},
    'Settings of a node by their names in docs/configuration.md, such as `rateLimitPerSecond: 100`. A change restarts the pods, one after the other.',
  ),
  extraArgs: value(texts, [], 'Arguments for the node, beside its variables.'),
  nodeOptions: value(
    text,
    '',
    'NODE_OPTIONS, such as --max-old-space-size=512. A node sizes its memory by the limit of the container without it.',
  ),
};

export function monitorGroup(doc: string, enabled: Value): Group {
  return group(doc, {
    enabled,
    interval: value(text, '30s', 'How often the metrics are read.'),
    scrapeTimeout: value(text, '10s', 'How long that may take.'),
    labels: value(textMap, {}, 'Labels by which your Prometheus selects it, such as `release: prometheus`.'),
    relabelings: value(objects, [], 'Applied to the targets.'),
    metricRelabelings: value(objects, [], 'Applied to the metrics.'),
  });
}

export function prometheusRuleGroup(rules: string): Group {
  return group(`A PrometheusRule with the alerts of the chart (${rules}).`, {
    enabled: value(autoOrFlag, 'auto', 'auto: when the cluster serves monitoring.coreos.com/v1.'),
    labels: value(textMap, {}, 'Labels by which your Prometheus selects it.'),
    disabled: value(texts, [], 'Names of alerts to leave out.'),
    runbooks: value(
      text,
      `${RUNBOOKS_PATH}/`,
      'Where the runbooks are: what comes before the name of the page in `runbook_url`, such as `https://wiki.example.com/cairn/`. By default it is their folder in the repository.',
    ),
  });
}

const MONITORING: Group['members'] = {
  monitoring: group('Objects for the Prometheus operator and for Grafana.', {
    serviceMonitor: monitorGroup(
      'A ServiceMonitor, by which Prometheus finds the metrics of all nodes.',
      value(autoOrFlag, 'auto', 'auto: when the cluster serves monitoring.coreos.com/v1.'),
    ),
    podMonitor: monitorGroup(
      'A PodMonitor instead, for a Prometheus that selects those.',
      value(flag, false, 'Whether there is one. Then turn the ServiceMonitor off: each would read all metrics.'),
    ),
    prometheusRule: prometheusRuleGroup('charts/cairn/rules'),
    dashboards: group('ConfigMaps with the dashboards of the chart (charts/cairn/dashboards), one for each.', {
      enabled: value(flag, false, 'Whether there are any.'),
      labels: value(textMap, { grafana_dashboard: '1' }, 'Labels by which the sidecar of Grafana selects them.'),
      annotations: value(textMap, {}, 'Annotations, such as the folder in Grafana.'),
    }),
  }),
};

export const EXTRA_OBJECTS: Value = value(
  listOf({ type: ['object', 'string'] }),
  [],
  'Further objects, as they are, or as text with templates in it.',
);

const REST: Group['members'] = {
  tests: group('The pod of `helm test`, which writes a transaction and reads it back.', {
    database: value(matching('^[a-z][a-z0-9-]{0,62}$'), 'helm-test', 'The database that it creates, and leaves.'),
  }),
  extraObjects: EXTRA_OBJECTS,
};

export const VALUES: Group = group('', {
  ...NAMES,
  ...CLUSTER,
  ...SECURITY,
  ...REACH,
  ...POD,
  ...MONITORING,
  ...REST,
});

/** Helm gives them to a chart that is part of another one; no template looks at them. */
export const OF_PARENT_CHARTS: Readonly<Record<string, Schema>> = { global: anyObject, enabled: flag };
