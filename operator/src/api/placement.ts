/** Where pods run. Most of it is as in a pod of Kubernetes, in the same words. */
import { LABEL_SELECTOR } from './fragments.ts';
import {
  choice,
  type Field,
  flag,
  list,
  map,
  object,
  optional,
  type Shape,
  shape,
  shapeOfKubernetes,
  text,
  wholeNumber,
} from './schema.ts';

const KEY_MAX = 317;
const VALUE_MAX = 253;
const WEIGHT = 'Weight of the preference.';

const labelKey = (doc: string): Field => text(doc, KEY_MAX, { min: 1 });

const NODE_REQUIREMENT: Shape = shapeOfKubernetes('NodeRequirement', {
  key: labelKey('Label of the Kubernetes node, or name of its field.'),
  operator: choice('Comparison with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  values: optional(list('The values.', text('A value.', VALUE_MAX), 64)),
});

const NODE_TERM: Shape = shapeOfKubernetes('NodeTerm', {
  matchExpressions: optional(
    list('Requirements on labels, all of them.', object('A requirement.', NODE_REQUIREMENT), 32),
  ),
  matchFields: optional(list('Requirements on fields, all of them.', object('A requirement.', NODE_REQUIREMENT), 32)),
});

const NODE_TERMS: Shape = shapeOfKubernetes('NodeTerms', {
  nodeSelectorTerms: list('Terms, any of which may match.', object('A term.', NODE_TERM), 32, { min: 1 }),
});

const PREFERRED_NODE_TERM: Shape = shapeOfKubernetes('PreferredNodeTerm', {
  weight: wholeNumber(WEIGHT, 1, 100),
  preference: object('The term.', NODE_TERM),
});

const NODE_AFFINITY: Shape = shapeOfKubernetes('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(object('Requirements on Kubernetes nodes.', NODE_TERMS)),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    list('Preferences among Kubernetes nodes.', object('A preference.', PREFERRED_NODE_TERM), 32),
  ),
});

const POD_TERM: Shape = shapeOfKubernetes('PodTerm', {
  topologyKey: labelKey('Label of Kubernetes nodes; nodes with the same value are one topology domain.'),
  labelSelector: optional(object('Pods by their labels.', LABEL_SELECTOR)),
  namespaces: optional(
    list('Names of namespaces; without them and a selector, that of the pod.', text('A namespace.', 63), 64),
  ),
  namespaceSelector: optional(object('Namespaces by their labels.', LABEL_SELECTOR)),
});

const PREFERRED_POD_TERM: Shape = shapeOfKubernetes('PreferredPodTerm', {
  weight: wholeNumber(WEIGHT, 1, 100),
  podAffinityTerm: object('The term.', POD_TERM),
});

const POD_AFFINITY: Shape = shapeOfKubernetes('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(list('Requirements.', object('A term.', POD_TERM), 32)),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    list('Preferences.', object('A preference.', PREFERRED_POD_TERM), 32),
  ),
});

const AFFINITY: Shape = shapeOfKubernetes('Affinity', {
  nodeAffinity: optional(object('Affinity to Kubernetes nodes.', NODE_AFFINITY)),
  podAffinity: optional(object('Affinity to other pods.', POD_AFFINITY)),
  podAntiAffinity: optional(object('Anti-affinity to other pods.', POD_AFFINITY)),
});

const TOLERATION: Shape = shapeOfKubernetes('Toleration', {
  key: optional(text('The key of the taint; without it all keys, with the operator Exists.', KEY_MAX)),
  operator: optional(choice('Comparison with the value. The default is Equal.', ['Exists', 'Equal'])),
  value: optional(text('The value of the taint.', VALUE_MAX)),
  effect: optional(
    choice('The effect of the taint; without it all effects.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  ),
  tolerationSeconds: optional(
    wholeNumber(
      'Time that pods stay on a Kubernetes node with a NoExecute taint. By default they stay.',
      0,
      2_147_483_647,
    ),
  ),
});

const SPREAD_CONSTRAINT: Shape = shapeOfKubernetes('SpreadConstraint', {
  topologyKey: labelKey('The label of Kubernetes nodes to spread over.'),
  maxSkew: wholeNumber('Largest difference in the number of pods between two topology domains.', 1, 100),
  whenUnsatisfiable: choice('Handling of a pod that does not meet the constraint.', [
    'DoNotSchedule',
    'ScheduleAnyway',
  ]),
  labelSelector: optional(object('The pods that are counted; without it those of the cluster.', LABEL_SELECTOR)),
  minDomains: optional(wholeNumber('Smallest number of topology domains.', 1, 1000)),
  nodeAffinityPolicy: optional(
    choice('Honor: only Kubernetes nodes that match the affinity count.', ['Honor', 'Ignore']),
  ),
  nodeTaintsPolicy: optional(
    choice('Honor: only Kubernetes nodes whose taints are tolerated count.', ['Honor', 'Ignore']),
  ),
});

const WHEN_UNSATISFIABLE = ['DoNotSchedule', 'ScheduleAnyway'];

const SPREAD: Shape = shape('Spread', {
  node: choice(
    'Over Kubernetes nodes. DoNotSchedule: no Kubernetes node has two pods more than another one, also where that one is cordoned; a pod waits until then. ScheduleAnyway: only where possible.',
    WHEN_UNSATISFIABLE,
    { default: 'DoNotSchedule' },
  ),
  zone: choice('Over zones.', WHEN_UNSATISFIABLE, { default: 'ScheduleAnyway' }),
});

export const PLACEMENT: Shape = shape('Placement', {
  spread: object('Spread of the pods of the cluster.', SPREAD, { default: {} }),
  topologySpreadConstraints: optional(
    list('Further constraints, as in a pod.', object('A constraint.', SPREAD_CONSTRAINT), 16),
  ),
  nodeSelector: optional(map('Labels of the Kubernetes nodes that pods run on.', text('The value.', 63), 32)),
  affinity: optional(object('Affinity, as in a pod.', AFFINITY)),
  tolerations: optional(list('Taints that pods tolerate, as in a pod.', object('A toleration.', TOLERATION), 32)),
  priorityClassName: optional(text('The priority of the pods.', 253, { min: 1 })),
  hostUsers: optional(flag('false: pods have user ids of their own on the Kubernetes node.')),
});
