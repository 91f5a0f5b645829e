/**
 * Rules for a catalog that has lost its quorum for good: the cluster is founded again from the data of one node, as in
 * docs/operations/recovery.md (KC12).
 *
 * ```
 *   all nodes stopped ──> cairn recover shows the loss ──> acceptLoss ──> cairn recover founds ──> other claims deleted
 *           │                        │                                                                     │
 *           └────────────────────────┴── spec.recovery removed: nothing has changed                 survivor started
 *                                                                           │                              │
 *                                                                           └──────> nodes started <───────┘
 * ```
 * All of it is in Kubernetes (../refounded.ts), so any operator continues what another one began. Two operators cannot
 * both change the stage: the API server refuses the second one.
 */
import type { CairnCluster } from '../../api/index.ts';
import type { ClusterNode } from '../../client/index.ts';
import { type RecoveryRun, runOf } from '../../objects/index.ts';
import { type Action, expectedOf, record, wait } from '../actions.ts';
import { CLAIM, DATA, isReady, isTerminating, POD, type Pod, sinceMs } from '../kinds.ts';
import { endOf, firstPodOf, founderOf, lostClaims } from '../refounded.ts';
import { wantedOf } from '../wanted.ts';
import { causeOf, isReleased, isStopped, nodesOf, podsIn, votersOf, type World } from '../world.ts';
import { changesOf } from './objects.ts';

/** Exit codes of the command when it has changed nothing. */
const REFUSED: ReadonlySet<number | undefined> = new Set([1, 2]);
const CODE = /--accept-loss (?<code>[0-9a-f]{8})\b/;

/** Stops all nodes when the voters that may come back are no majority. */
export function stop(world: World): readonly Action[] | undefined {
  const actions = waitToStop(world);
  return actions?.some(({ kind }) => kind === 'wait') === true ? undefined : actions;
}

/** The same, or the reason why they are not stopped. It comes late: other rules may bring a quorum back. */
export function waitToStop(world: World): readonly Action[] | undefined {
  const { cluster, description } = world;
  const run = wantedRun(cluster);
  if (run === undefined || description === undefined || description.isConfirmed) return undefined;
  const fault = claimFault(run.survivor, world);
  if (fault !== undefined) return fault;
  const survivor = nodesOf(world).findLast(({ name }) => name === run.survivor);
  if (survivor?.answers !== true) return wait('RecoveryWaits', `the node of pod ${run.survivor} does not answer`);
  const voters = votersOf(world);
  const able = voters.filter((voter) => voter.answers || mayReturn(voter, world));
  if (voters.length > 0 && 2 * able.length <= voters.length) {
    const named = podsIn(world, 'voters').map((pod) => ({ name: pod.metadata.name, pod }));
    const expects = expectedOf(named.filter(({ name }) => name !== survivor.name));
    return [{ ...record(cluster, { recoveryStage: 'Stopped' }, 'all nodes stop for spec.recovery'), expects }];
  }
  const names = able.filter(({ id }) => id !== survivor.id).map(({ id, name }) => `${id} (${name})`);
  const lost = 'a node is lost when it does not answer and its pod is not ready for repair.afterSeconds';
  return wait('RecoveryWaits', `the catalog may have a quorum again, with the nodes ${names.join(', ')}: ${lost}`);
}

/** Continues while all nodes are stopped. */
export function refound(world: World): readonly Action[] | undefined {
  const { cluster, pods } = world;
  if (!isStopped(cluster)) return undefined;
  const founder = founderOf(world);
  if (cluster.status?.recoveryStage === 'Founded' && founder === undefined)
    return wait('RecoveryRefused', 'status.recoverySurvivor must be the pod whose data was recovered, and is not set');
  const wanted = wantedRun(cluster);
  // The set has no pods while the stage is recorded, also when other parties have changed it.
  const sets = wantedOf(world).objects.filter(({ kind }) => kind === 'StatefulSet');
  const changes = changesOf(sets, world);
  if (changes.length > 0) return changes;
  const first = firstPodOf(world);
  const pod = pods.find(({ metadata }) => metadata.name !== first);
  if (pod !== undefined && (founder !== undefined || wanted !== undefined)) {
    const { nodeName } = pod.spec ?? {};
    const remedy =
      nodeName === undefined ? '' : `; if its Kubernetes node ${nodeName} is lost for good, delete that node`;
    return wait('Recovering', `pod ${pod.metadata.name} has not ended yet${remedy}`);
  }
  if (founder === undefined) return decide(wanted, world);
  if (first === undefined) return finish(founder, world);
  const isPlaced = pods.some(({ spec }) => spec?.nodeName !== undefined);
  return isPlaced ? [started(cluster)] : wait('Recovering', `pod ${first} starts before the others`);
}

/** Runs the command as spec.recovery says now, unless it has succeeded. */
function decide(wanted: RecoveryRun | undefined, world: World): readonly Action[] {
  const { cluster, claims, recoveryPod: pod } = world;
  const run = pod && runOf(pod);
  if (pod !== undefined && run === undefined)
    return wait('RecoveryRefused', `the pod ${pod.metadata.name} has lost its annotations. Delete it to try again`);
  const end = endOf(pod);
  // Only a run that accepts the loss succeeds. The data has changed then, so spec.recovery is not asked any more.
  if (run !== undefined && end?.exitCode === 0) return [founded(cluster, run)];
  // It may have changed the data until it is known that it has refused, so it is not given up.
  const isOpen = run?.acceptLoss !== undefined && !REFUSED.has(end?.exitCode);
  if (pod !== undefined && !isOpen && JSON.stringify(run) !== JSON.stringify(wanted))
    return removal(pod, 'spec.recovery has changed');
  const due = isOpen ? run : wanted;
  if (due === undefined) return [started(cluster)];
  const fault = claimFault(due.survivor, world);
  if (fault !== undefined) return fault;
  if (pod === undefined) {
    const names = claims.map(({ metadata: { name } }) => name.slice(DATA.length));
    const expects = names.map((name) => ({ name, uid: undefined, readyMs: undefined }));
    return [{ kind: 'refound', object: world.renderRecovery(due), expects }];
  }
  const { name } = pod.metadata;
  if (end === undefined) return wait('Recovering', `cairn recover runs in the pod ${name}${causeOf(pod)}`);
  const code = CODE.exec(end.message)?.groups?.['code'];
  if (code === undefined) return wait('RecoveryRefused', `${end.message}. Delete the pod ${name} to try again`);
  const shown = `kubectl logs ${name} shows the data of ${due.survivor} and what is lost`;
  return wait('LossNotAccepted', `${shown}; to continue with it, set spec.recovery.acceptLoss to "${code}"`);
}

/** The node is the only one of a new cluster. The others join it with empty volumes. */
function finish(founder: string, world: World): readonly Action[] {
  const fault = claimFault(founder, world);
  if (fault !== undefined) return fault;
  const next = lostClaims(world).find((claim) => !isTerminating(claim));
  const why = `the cluster continues with the data of ${founder}`;
  if (next !== undefined) return [{ kind: 'delete', of: CLAIM, object: next, why }];
  return world.recoveryPod === undefined ? wait('Recovering', why) : removal(world.recoveryPod, why);
}

/** The run that spec.recovery asks for; undefined when it was carried out. */
function wantedRun({ spec, status }: CairnCluster): RecoveryRun | undefined {
  const { recovery } = spec;
  if (recovery === undefined || recovery.id === status?.recoveryID) return undefined;
  const { id, survivor, acceptLoss } = recovery;
  return { id, survivor, acceptLoss };
}

/** The id is in the status before nodes start, so that it is never carried out again. */
function founded(cluster: CairnCluster, { id, survivor }: RecoveryRun): Action {
  const status = { recoveryStage: 'Founded', recoverySurvivor: survivor, recoveryID: id } as const;
  return record(cluster, status, `the id ${id} of spec.recovery counts as carried out: the cluster is founded again`);
}

function started(cluster: CairnCluster): Action {
  return record(cluster, { recoveryStage: null, recoverySurvivor: null }, 'all nodes start');
}

function removal(pod: Pod, why: string): readonly Action[] {
  if (isTerminating(pod)) return wait('Recovering', `the pod ${pod.metadata.name} is being deleted`);
  return [{ kind: 'delete', of: POD, object: pod, why }];
}

function claimFault(survivor: string, { claims }: World): readonly Action[] | undefined {
  const claim = claims.find(({ metadata }) => metadata.name === `${DATA}${survivor}`);
  const isThere = claim?.status?.phase === 'Bound' && !isTerminating(claim) && !isReleased(claim);
  if (isThere) return undefined;
  const remedy = 'set spec.recovery.survivor to a pod whose volume has the data';
  return wait('RecoveryRefused', `the claim ${DATA}${survivor} is lost, is being deleted, or was released: ${remedy}`);
}

/** Returns whether a voter that does not answer may do so again: its pod was ready within repair.afterSeconds. */
function mayReturn({ id, name }: ClusterNode, { nowMs, cluster, pods, description }: World): boolean {
  // Another node has replaced it.
  if (description?.nodes.some((other) => other.name === name && other.id > id) === true) return false;
  // The StatefulSet may be gone at the moment, or have too few pods.
  const pod = pods.find(({ metadata }) => metadata.name === name);
  if (pod === undefined || isReady(pod)) return true;
  const sinceUnreadyMs = sinceMs(pod, 'Ready') ?? Date.parse(pod.metadata.creationTimestamp ?? '');
  return !(nowMs - sinceUnreadyMs >= cluster.spec.repair.afterSeconds * 1000);
}
