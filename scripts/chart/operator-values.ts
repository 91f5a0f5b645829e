/** Every value of the chart cairn-operator, in the order of values.yaml. */
import { POD } from './pod-values.ts';
import { METRICS_FROM, SECURITY } from './security-values.ts';
import { anyObject, autoOrFlag, flag, type Group, group, matching, text, value, wholeNumber } from './value.ts';
import { EXTRA_OBJECTS, imageGroup, monitorGroup, NAMES, prometheusRuleGroup } from './values.ts';

/** @throws Error when the chart cairn has no such value. */
function chosen(members: Group['members'], ...keys: readonly string[]): Group['members'] {
  const missing = keys.filter((key) => members[key] === undefined);
  if (missing.length > 0) throw new Error(`charts/cairn has no values ${missing.join(', ')}`);
  return Object.fromEntries(Object.entries(members).filter(([key]) => keys.includes(key)));
}

export const OPERATOR_VALUES: Group = group('', {
  ...chosen(NAMES, 'fullnameOverride', 'commonLabels', 'commonAnnotations'),
  replicas: value(
    wholeNumber(1, 9),
    1,
    'How many operators run. One of them acts; with 2 another one takes over within seconds when it fails. Clusters of Cairn do not need the operator to serve requests.',
  ),
  image: imageGroup('The image of Cairn, which has the operator and the nodes.'),
  nodeImage: value(
    text,
    '',
    'Repository of the image of nodes, for a CairnCluster without `image`. Without it that of the operator; the tag is `spec.version`.',
  ),
  watchNamespace: value(
    matching('^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$'),
    '',
    'The only namespace whose resources it reconciles, with rights in that namespace alone. Then it reads no Kubernetes nodes, and replaces no node whose Kubernetes node is lost. Empty: all namespaces.',
  ),
  rbac: group('The rights of the operator, which follow from its requests (operator/src/rights.ts).', {
    create: value(flag, true, 'Whether the chart makes its roles and their bindings.'),
  }),
  ...chosen(SECURITY, 'serviceAccount', 'podSecurityContext', 'securityContext'),
  networkPolicy: group('Who reaches the pods. It counts where the network of the cluster enforces it.', {
    enabled: value(flag, true, 'Whether there is one. Only metrics can be read.'),
    metrics: METRICS_FROM,
  }),
  resources: value(
    anyObject,
    { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    'What an operator may use.',
  ),
  ...chosen(POD, 'affinity', 'nodeSelector', 'tolerations', 'priorityClassName', 'podTemplate'),
  monitoring: group('Objects for the Prometheus operator.', {
    podMonitor: monitorGroup(
      'A PodMonitor, by which Prometheus finds the metrics of the operator.',
      value(autoOrFlag, 'auto', 'auto: when the cluster serves monitoring.coreos.com/v1.'),
    ),
    prometheusRule: prometheusRuleGroup('charts/cairn-operator/rules'),
  }),
  extraObjects: EXTRA_OBJECTS,
});
