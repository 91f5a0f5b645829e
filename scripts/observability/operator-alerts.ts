/**
 * The alerts of the operator: the source of charts/cairn-operator/rules/cairn-operator.yaml. `object` and
 * `object_namespace` name a resource.
 */
import type { Alert } from './alerts.ts';

const OPERATOR = '{{ $labels.namespace }}/{{ $labels.job }}';
const OBJECT = '{{ $labels.object_namespace }}/{{ $labels.object }}';
const LEADER = 'max by (namespace, job) (cairn_operator_is_leader)';

/** Resources whose condition is not True. */
function lacking(resource: string, type: string): string {
  const labels = 'namespace, job, resource, object_namespace, object';
  return `max by (${labels}) (cairn_operator_condition{resource=~"${resource}",type="${type}"}) == 0`;
}

export const OPERATOR_ALERTS: readonly Alert[] = [
  {
    name: 'OperatorReconcileErrors',
    severity: 'warning',
    for: '15m',
    expr: 'max by (namespace, job, controller) (cairn_operator_queue_failing) > 0',
    summary: 'Resources are not reconciled: the operator fails again and again.',
    description: `The controller {{ $labels.controller }} of ${OPERATOR} fails for {{ $value }} resources.`,
  },
  {
    name: 'OperatorRunaway',
    severity: 'warning',
    for: '30m',
    expr: 'sum by (namespace, job, controller) (rate(cairn_operator_actions_total[10m])) > 0.2',
    summary: 'The operator changes objects without an end: it may undo the changes of another client.',
    description: `The controller {{ $labels.controller }} of ${OPERATOR} makes {{ $value | humanize }} changes per second.`,
  },
  {
    name: 'OperatorStalled',
    severity: 'warning',
    for: '10m',
    expr: `${LEADER} == 0 or (0 * max by (namespace, job) (max_over_time(cairn_operator_is_leader[1d])) unless ${LEADER}) or (max by (namespace, job, controller) (cairn_operator_queue_depth) > 0 and sum by (namespace, job, controller) (increase(cairn_operator_reconciles_total[10m])) == 0)`,
    summary: 'No operator acts: failed nodes are not replaced, and changes of resources have no effect.',
    description: `No operator of ${OPERATOR} leads, or its controller {{ $labels.controller }} makes no progress.`,
  },
  {
    name: 'OperatorWatchStale',
    severity: 'warning',
    for: '5m',
    expr: 'max by (namespace, job, resource) (cairn_operator_watch_stale_seconds) > 300',
    summary: 'The operator acts on old data, or not at all: the API server does not answer its watch.',
    description: `The operator ${OPERATOR} has received nothing about {{ $labels.resource }} for {{ $value | humanizeDuration }}.`,
  },
  {
    name: 'ClusterNotStable',
    severity: 'warning',
    for: '1h',
    expr: lacking('cairnclusters', 'Stable'),
    summary: 'A cluster is not what its CairnCluster says.',
    description: `The CairnCluster ${OBJECT} has not been Stable for an hour.`,
  },
  {
    name: 'ClusterNotStable',
    severity: 'critical',
    for: '15m',
    expr: lacking('cairnclusters', 'Ready'),
    summary: 'A cluster lacks nodes or does not take writes, and the operator has not repaired it.',
    description: `The CairnCluster ${OBJECT} has not been Ready for 15 minutes.`,
  },
  {
    name: 'RollStuck',
    severity: 'warning',
    for: '30m',
    expr: lacking('cairnclusters', 'ConfigurationApplied'),
    summary: 'An upgrade or a change of the configuration does not continue: nodes run with different configurations.',
    description: `Pods of the CairnCluster ${OBJECT} run with an earlier configuration.`,
  },
  {
    name: 'ComponentNotDistributed',
    severity: 'warning',
    for: '30m',
    expr: lacking('presenters|statechanges|stateviews', 'Distributed'),
    summary: 'A new version of a component is not activated: not every node can run it.',
    description: `{{ $labels.resource }} ${OBJECT} is not compiled on all nodes of its databases.`,
  },
];
