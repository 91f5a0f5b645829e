/** The controller of CairnClusters: observes, plans, acts and reports (../kube/controller.ts). */
import { CAIRN_CLUSTER, type CairnCluster } from '../api/index.ts';
import type { SecretsState } from '../certificates/index.ts';
import { CallError, type ClusterAdmin } from '../client/index.ts';
import {
  type Api,
  applyStatus,
  type Controller,
  type EventRecorder,
  type KubeObject,
  type Outcome,
  type Wanted,
} from '../kube/index.ts';
import { type DueFacts, namesOf, poolOf, type RecoveryRun } from '../objects/index.ts';
import { type Action, act, isIrreversible, MANAGER } from './actions.ts';
import { Applied } from './applied.ts';
import type { ClusterInformers } from './informers.ts';
import { DATA, isReady, type Pod } from './kinds.ts';
import { plan } from './plan.ts';
import { recheckMs, statusOf, textOf } from './status.ts';
import type { WantedObject, World } from './world.ts';

/** Objects that the controller reads. Two implementations: informers, and the simulation of test/operator/cluster. */
export type ObjectsOf = Pick<ClusterInformers, 'cluster' | 'of'>;

export interface ClusterPorts {
  readonly api: Api;
  readonly objects: ObjectsOf;
  /** The admin API of a cluster, at these pods in this order. Rejects when there are no credentials yet. */
  readonly adminOf: (cluster: CairnCluster, pods: readonly Pod[], signal: AbortSignal) => Promise<ClusterAdmin>;
  readonly render: (cluster: CairnCluster, facts: DueFacts) => readonly WantedObject[];
  readonly renderRecovery: (cluster: CairnCluster, run: RecoveryRun) => Wanted;
  readonly secretsOf: (cluster: CairnCluster) => SecretsState;
  readonly events: Pick<EventRecorder, 'record'>;
}

interface Observed {
  readonly world: World;
  readonly admin: ClusterAdmin | undefined;
}

interface Due {
  readonly action: Action;
  readonly admin: ClusterAdmin | undefined;
}

export function clusterController(ports: ClusterPorts): Controller<Observed, Due> {
  const applied = new Applied();
  return {
    name: 'cluster',
    observe: (key, signal) => observe(key, signal, ports, applied),
    plan: ({ world, admin }) => plan(world).map((action) => ({ action, admin })),
    isIrreversible: ({ action }) => isIrreversible(action),
    act: ({ action, admin }) =>
      act(action, { ...ports, admin, onApplied: (object, result) => applied.note(object, result) }),
    isWait: ({ action }) => action.kind === 'wait',
    report: (observed, outcome) => report(observed, outcome, ports),
    recheckMs: ({ world }) => recheckMs(world),
  };
}

async function observe(
  key: string,
  signal: AbortSignal,
  ports: ClusterPorts,
  applied: Applied,
): Promise<Observed | undefined> {
  const { objects, api } = ports;
  const known = objects.cluster(key);
  if (known === undefined) return undefined;
  // Objects are read before the nodes are asked: a node knows a disk that has grown before its claim shows that.
  const found = objects.of(known);
  // Other parties may give the same labels to objects of theirs, such as the claim of a backup.
  const [pods, claims] = [found.pods.filter(isNumbered(known, '')), found.claims.filter(isNumbered(known, DATA))];
  // Ready nodes answer at once.
  const asked = pods.toSorted((one, other) => Number(isReady(other)) - Number(isReady(one)));
  const admin = asked.length === 0 ? undefined : await ports.adminOf(known, asked, signal).catch(() => undefined);
  let refusal: string | undefined;
  const description = await admin?.describe().catch((error: unknown) => {
    // Not thrown: the next passes would fail in the same way, and none would report a status.
    if (error instanceof CallError && !error.isTransient) refusal = error.message;
    return undefined;
  });
  // Last, because the copy may lag: the plan follows from the spec, the finalizers and the stage as they are (KC10).
  const cluster = await api.find<CairnCluster>(CAIRN_CLUSTER, known.metadata, { signal });
  if (cluster === undefined || cluster.metadata.uid !== known.metadata.uid) return undefined;
  const world: World = {
    nowMs: api.runtime.wallMs(),
    cluster,
    render: (facts) => ports.render(cluster, facts),
    renderRecovery: (run) => ports.renderRecovery(cluster, run),
    isApplied: (object) => applied.isApplied(object, found.owned),
    ...found,
    pods,
    recoveryPod: found.pods.find(({ metadata: { name } }) => name === namesOf(cluster).recovery),
    claims,
    description,
    refusal,
  };
  return { world, admin };
}

/** Returns true when the name, after the prefix, is that of a pod of a StatefulSet. */
function isNumbered(cluster: CairnCluster, prefix: string): (object: KubeObject) => boolean {
  return ({ metadata: { name } }) =>
    name.startsWith(prefix) && poolOf(cluster, name.slice(prefix.length)) !== undefined;
}

async function report(
  { world }: Observed,
  outcome: Outcome<Due>,
  { api, secretsOf, events }: ClusterPorts,
): Promise<void> {
  const { cluster } = world;
  const done = { ...outcome, plan: outcome.plan.map(({ action }) => action) };
  for (const action of done.plan.slice(0, outcome.done)) {
    if (action.kind === 'wait' || action.kind === 'apply') continue;
    const [reason, note] = textOf(action);
    events.record(cluster, { type: 'Normal', reason, action: action.kind, note });
  }
  const failed = done.plan[outcome.done];
  if (outcome.failure !== undefined && failed !== undefined) {
    const note = `${textOf(failed)[1]}: ${outcome.failure.message}`;
    events.record(cluster, { type: 'Warning', reason: 'Failed', action: failed.kind, note });
  }
  if (cluster.metadata.deletionTimestamp !== undefined) return;
  const status = statusOf(world, done, secretsOf(cluster));
  const { recoveryID } = status;
  if (recoveryID !== undefined && recoveryID !== cluster.status?.recoveryID) {
    const why = `no database of ${cluster.spec.recovery?.survivor} lacks a leader`;
    const note = `the id ${recoveryID} of spec.recovery counts as carried out: ${why}`;
    events.record(cluster, { type: 'Normal', reason: 'RecoveryDone', action: 'recover', note });
  }
  await applyStatus(api, { kind: CAIRN_CLUSTER, object: cluster, status, manager: `${MANAGER}-status` });
}
