// The cases of the alerts of the operator, as in alert-cases.ts.
import type { AlertCase } from './alert-case.ts';

const OF_CONTROLLER = 'controller="clusters",severity="warning"';
const FAILING = 'cairn_operator_queue_failing{controller="clusters"}';
const ACTIONS = 'cairn_operator_actions_total{controller="clusters"}';
const DEPTH = 'cairn_operator_queue_depth{controller="clusters"}';
const PASSES = 'cairn_operator_reconciles_total{controller="clusters",result="success"}';
const STALE = 'cairn_operator_watch_stale_seconds{resource="pods"}';

/** A condition of one resource, and the labels of an alert about it. */
function condition(resource: string, type: string, values: string): string {
  return `cairn_operator_condition{${of(resource)},type="${type}"} ${values}`;
}

function of(resource: string): string {
  return `resource="${resource}",object_namespace="prod",object="shop"`;
}

/** One of two operators leads, and they agree on the condition. */
function lacking(resource: string, type: string, severity: string, minutes: number): readonly AlertCase[] {
  const fires = `${of(resource)},severity="${severity}"`;
  return [
    [`${minutes + 5}m`, [condition(resource, type, '0x120')], [fires]],
    [`${minutes - 5}m`, [condition(resource, type, '0x120')], []],
    [`${minutes + 5}m`, [condition(resource, type, '1x120')], []],
    [`${minutes + 5}m`, [condition(resource, 'Other', '0x120'), condition('others', type, '0x120')], []],
  ];
}

export const OPERATOR_CASES: Readonly<Record<string, readonly AlertCase[]>> = {
  OperatorReconcileErrors: [
    ['20m', [`${FAILING} 1x30`], [OF_CONTROLLER]],
    ['20m', [`${FAILING} 0x30`], []],
  ],
  OperatorRunaway: [
    ['45m', [`${ACTIONS} 0+13x60`], [OF_CONTROLLER]],
    ['45m', [`${ACTIONS} 0+11x60`], []],
  ],
  OperatorStalled: [
    ['15m', ['cairn_operator_is_leader 0x30', 'cairn_operator_is_leader{pod="b"} 0x30'], ['severity="warning"']],
    ['15m', ['cairn_operator_is_leader 0x30', 'cairn_operator_is_leader{pod="b"} 1x30'], []],
    ['25m', ['cairn_operator_is_leader 1x5 stale'], ['severity="warning"']],
    ['25m', ['cairn_operator_is_leader 1x30', `${DEPTH} 1x30`, `${PASSES} 7x30`], [OF_CONTROLLER]],
    ['25m', ['cairn_operator_is_leader 1x30', `${DEPTH} 1x30`, `${PASSES} 0+1x30`], []],
    ['25m', ['cairn_operator_is_leader 1x30', `${DEPTH} 0x30`, `${PASSES} 7x30`], []],
  ],
  OperatorWatchStale: [
    ['12m', [`${STALE} 310x30`], ['resource="pods",severity="warning"']],
    ['12m', [`${STALE} 290x30`], []],
  ],
  ClusterNotStable: [
    ...lacking('cairnclusters', 'Stable', 'warning', 60),
    ...lacking('cairnclusters', 'Ready', 'critical', 15),
  ],
  RollStuck: lacking('cairnclusters', 'ConfigurationApplied', 'warning', 30),
  ComponentNotDistributed: ['presenters', 'statechanges', 'stateviews'].flatMap((resource) =>
    lacking(resource, 'Distributed', 'warning', 30),
  ),
};
