/** Where pods run. Most of it is as in a pod of Kubernetes, in the same words. */
import { LABEL_SELECTOR } from './fragments.ts';
import * as f from './schema.ts';

const KEY_MAX = 317;
const VALUE_MAX = 253;
const WEIGHT = 'Weight of the preference.';

const labelKey = (doc: string): f.Field => f.text(doc, KEY_MAX, { min: 1 });

const NODE_REQUIREMENT: f.Shape = f.shapeOfKubernetes('NodeRequirement', {
  key: labelKey('Label of the Kubernetes node, or name of its field.'),
  operator: f.choice('Comparison with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  'values?': f.list('The values.', f.text('A value.', VALUE_MAX), 64),
});

const NODE_TERM: f.Shape = f.shapeOfKubernetes('NodeTerm', {
  'matchExpressions?': f.list('Requirements on labels, all of them.', f.object('A requirement.', NODE_REQUIREMENT), 32),
  'matchFields?': f.list('Requirements on fields, all of them.', f.object('A requirement.', NODE_REQUIREMENT), 32),
});

const NODE_TERMS: f.Shape = f.shapeOfKubernetes('NodeTerms', {
  nodeSelectorTerms: f.list('Terms, any of which may match.', f.object('A term.', NODE_TERM), 32, { min: 1 }),
});

const PREFERRED_NODE_TERM: f.Shape = f.shapeOfKubernetes('PreferredNodeTerm', {
  weight: f.wholeNumber(WEIGHT, 1, 100),
  preference: f.object('The term.', NODE_TERM),
});

const NODE_AFFINITY: f.Shape = f.shapeOfKubernetes('NodeAffinity', {
  'requiredDuringSchedulingIgnoredDuringExecution?': f.object('Requirements on Kubernetes nodes.', NODE_TERMS),
  'preferredDuringSchedulingIgnoredDuringExecution?': f.list(
    'Preferences among Kubernetes nodes.',
    f.object('A preference.', PREFERRED_NODE_TERM),
    32,
  ),
});

const POD_TERM: f.Shape = f.shapeOfKubernetes('PodTerm', {
  topologyKey: labelKey('Label of Kubernetes nodes; nodes with the same value are one topology domain.'),
  'labelSelector?': f.object('Pods by their labels.', LABEL_SELECTOR),
  'namespaces?': f.list(
    'Names of namespaces; without them and a selector, that of the pod.',
    f.text('A namespace.', 63),
    64,
  ),
  'namespaceSelector?': f.object('Namespaces by their labels.', LABEL_SELECTOR),
});

const PREFERRED_POD_TERM: f.Shape = f.shapeOfKubernetes('PreferredPodTerm', {
  weight: f.wholeNumber(WEIGHT, 1, 100),
  podAffinityTerm: f.object('The term.', POD_TERM),
});

const POD_AFFINITY: f.Shape = f.shapeOfKubernetes('PodAffinity', {
  'requiredDuringSchedulingIgnoredDuringExecution?': f.list('Requirements.', f.object('A term.', POD_TERM), 32),
  'preferredDuringSchedulingIgnoredDuringExecution?': f.list(
    'Preferences.',
    f.object('A preference.', PREFERRED_POD_TERM),
    32,
  ),
});

const AFFINITY: f.Shape = f.shapeOfKubernetes('Affinity', {
  'nodeAffinity?': f.object('Affinity to Kubernetes nodes.', NODE_AFFINITY),
  'podAffinity?': f.object('Affinity to other pods.', POD_AFFINITY),
  'podAntiAffinity?': f.object('Anti-affinity to other pods.', POD_AFFINITY),
});

const TOLERATION: f.Shape = f.shapeOfKubernetes('Toleration', {
  'key?': f.text('The key of the taint; without it all keys, with the operator Exists.', KEY_MAX),
  'operator?': f.choice('Comparison with the value. The default is Equal.', ['Exists', 'Equal']),
  'value?': f.text('The value of the taint.', VALUE_MAX),
  'effect?': f.choice('The effect of the taint; without it all effects.', [
    'NoSchedule',
    'PreferNoSchedule',
    'NoExecute',
  ]),
  'tolerationSeconds?': f.wholeNumber(
    'Time that pods stay on a Kubernetes node with a NoExecute taint. By default they stay.',
    0,
    2_147_483_647,
  ),
});

const SPREAD_CONSTRAINT: f.Shape = f.shapeOfKubernetes('SpreadConstraint', {
  topologyKey: labelKey('The label of Kubernetes nodes to spread over.'),
  maxSkew: f.wholeNumber('Largest difference in the number of pods between two topology domains.', 1, 100),
  whenUnsatisfiable: f.choice('Handling of a pod that does not meet the constraint.', [
    'DoNotSchedule',
    'ScheduleAnyway',
  ]),
  'labelSelector?': f.object('The pods that are counted; without it those of the cluster.', LABEL_SELECTOR),
  'minDomains?': f.wholeNumber('Smallest number of topology domains.', 1, 1000),
  'nodeAffinityPolicy?': f.choice('Honor: only Kubernetes nodes that match the affinity count.', ['Honor', 'Ignore']),
  'nodeTaintsPolicy?': f.choice('Honor: only Kubernetes nodes whose taints are tolerated count.', ['Honor', 'Ignore']),
});

const WHEN_UNSATISFIABLE = ['DoNotSchedule', 'ScheduleAnyway'];

const SPREAD: f.Shape = f.shape('Spread', {
  node: f.choice(
    'Over Kubernetes nodes. DoNotSchedule: no Kubernetes node has two pods more than another one, also where that one is cordoned; a pod waits until then. ScheduleAnyway: only where possible.',
    WHEN_UNSATISFIABLE,
    { default: 'DoNotSchedule' },
  ),
  zone: f.choice('Over zones.', WHEN_UNSATISFIABLE, { default: 'ScheduleAnyway' }),
});

export const PLACEMENT: f.Shape = f.shape('Placement', {
  spread: f.object('Spread of the pods of the cluster.', SPREAD, { default: {} }),
  'topologySpreadConstraints?': f.list(
    'Further constraints, as in a pod.',
    f.object('A constraint.', SPREAD_CONSTRAINT),
    16,
  ),
  'nodeSelector?': f.map('Labels of the Kubernetes nodes that pods run on.', f.text('The value.', 63), 32),
  'affinity?': f.object('Affinity, as in a pod.', AFFINITY),
  'tolerations?': f.list('Taints that pods tolerate, as in a pod.', f.object('A toleration.', TOLERATION), 32),
  'priorityClassName?': f.text('The priority of the pods.', 253, { min: 1 }),
  'hostUsers?': f.flag('false: pods have user ids of their own on the Kubernetes node.'),
});
