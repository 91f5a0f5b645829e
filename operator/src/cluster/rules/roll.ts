/**
 * Rules that replace the pods of a pool whose template has changed, one after the other. repair.ts replaces pods of
 * lost nodes.
 *
 * ```
 *   outdated ──> marked and drained ──> no leaderships left, or drainTimeoutSeconds ──> deleted ──> ready, caught up,
 *                     │                                                                             stable ──> next
 *                     └── another member is not in service, or the spec went back ──> undrained
 * ```
 * The mark is an annotation of the pod with the time, so any operator continues or undoes what another one began. A
 * learner has no leaderships, and is not drained.
 */
import type { Pool } from '../../objects/index.ts';
import { type Action, expectedOf, metadataPatch, wait } from '../actions.ts';
import { containerOf, DRAIN_ANNOTATION, isReady, isTerminating, POD, type Pod } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import {
  ailmentAmong,
  drainStartMs,
  hasQuorumWithout,
  isOutdated,
  isStable,
  type Member,
  membersIn,
  membersOf,
  replicasOf,
  votersOf,
  type World,
} from '../world.ts';
import { isBelowFinal } from './finalize.ts';

interface Target {
  readonly member: Member & { readonly pod: Pod };
  readonly isInService: boolean;
  /** Why it cannot be replaced now. */
  readonly obstacle: string | undefined;
}

/** Replaces an outdated pod that is out of service. It waits for nothing: it may be what everything else waits for. */
export function fix(world: World, pool: Pool): readonly Action[] | undefined {
  const target = targetOf(world, pool);
  return target === undefined || target.isInService ? undefined : [replacementOf(target.member, [target.member])];
}

export function roll(world: World, pool: Pool): readonly Action[] | undefined {
  const target = targetOf(world, pool);
  if (target === undefined) return undefined;
  const { member, obstacle } = target;
  const { pod, node, name } = member;
  if (obstacle !== undefined) return wait('RollWaits', `pod ${name} is not replaced yet: ${obstacle}`);
  const replaced = replacementOf(member, neededBy(pool, world));
  if (node === undefined || pool === 'learners' || isAlone(world)) return [replaced];
  const drain: Action = { kind: 'drain', node: node.id, name };
  const startMs = drainStartMs(pod);
  if (startMs === undefined || !node.isDraining) {
    // The mark of an earlier attempt may be gone: it was seen in a cache that lags behind (KC6).
    const since = new Date(startMs ?? world.nowMs).toISOString();
    return [metadataPatch(POD, pod, 'annotations', { [DRAIN_ANNOTATION]: since }), drain];
  }
  const isLate = world.nowMs - startMs >= world.cluster.spec.update.drainTimeoutSeconds * 1000;
  if (node.movableLeads === 0 || isLate) return [replaced];
  return wait('Draining', `node ${node.id} (${name}) transfers its leaderships`);
}

/** Puts nodes into service again that were drained and are not to be replaced now (KC6). */
export function undo(world: World, pool: Pool): readonly Action[] | undefined {
  const target = targetOf(world, pool);
  for (const { name, pod, node } of membersIn(world, pool)) {
    if (pod === undefined || isTerminating(pod) || drainStartMs(pod) === undefined) continue;
    if (target?.member.name === name && target.obstacle === undefined) continue;
    // A node that does not answer may be drained nevertheless.
    if (node?.answers !== true) continue;
    if (node.isDraining) return [{ kind: 'undrain', node: node.id, name }];
    return [metadataPatch(POD, pod, 'annotations', { [DRAIN_ANNOTATION]: null })];
  }
  return undefined;
}

function replacementOf({ pod }: Target['member'], expected: readonly Member[]): Action {
  return { kind: 'delete', of: POD, object: pod, why: 'its template has changed', expects: expectedOf(expected) };
}

/** The pod to replace next, with the least leaderships; undefined: there is none, or none may be. */
function targetOf(world: World, pool: Pool): Target | undefined {
  const { strategy, paused } = world.cluster.spec.update;
  const { hashes } = wantedOf(world);
  if (strategy === 'OnDelete' || isBelowFinal(world)) return undefined;
  const outdated = membersIn(world, pool).flatMap((member) => {
    const { pod } = member;
    return pod !== undefined && !isTerminating(pod) && isOutdated(member, hashes) ? [{ ...member, pod }] : [];
  });
  const begun = outdated.filter(({ pod }) => drainStartMs(pod) !== undefined);
  const open = paused ? begun : outdated;
  const broken = open.find((member) => isBroken(member, world));
  if (broken !== undefined) return { member: broken, isInService: false, obstacle: undefined };
  const [next] = [
    ...begun,
    ...open.toSorted((one, other) => leadsOf(one) - leadsOf(other) || other.ordinal - one.ordinal),
  ];
  return next && { member: next, isInService: true, obstacle: obstacleOf(next, world) };
}

/** Returns true when a pod is out of service, so that deleting it stops nothing. */
function isBroken({ pod, node }: Member, { description, cluster }: World): boolean {
  if (isReady(pod)) return false;
  if (description?.isConfirmed === true) return node?.answers !== true;
  // Without an answer only what has not started is known not to run.
  const isRunning = containerOf(pod)?.state?.running !== undefined;
  return !isRunning || cluster.status?.clusterID === undefined;
}

/** KC1, KC2. */
function obstacleOf(target: Member, world: World): string | undefined {
  if (world.description?.isConfirmed !== true) return 'the cluster does not answer, or has no leader of its catalog';
  const { replicas } = world.cluster.spec;
  if ((replicasOf(world, 'voters') ?? 0) < replicas) return `there are not ${replicas} pods yet`;
  const others = neededBy(target.pool, world).filter(({ name }) => name !== target.name);
  const ailment = ailmentAmong(others, world);
  if (ailment !== undefined) return ailment;
  const unstable = others.find((member) => !isStable(member, world));
  if (unstable !== undefined) return `pod ${unstable.name} has been ready for less than update.stableSeconds`;
  if (isAlone(world) || hasQuorumWithout(target, world)) return undefined;
  return 'without it too few voters of the catalog are in service';
}

/** The members that must be in service while one of a pool is replaced. */
function neededBy(pool: Pool, world: World): readonly Member[] {
  return pool === 'voters' ? membersIn(world, pool) : membersOf(world);
}

/** Returns true when a cluster has one node beside its learners, which cannot be drained. */
function isAlone(world: World): boolean {
  return membersIn(world, 'voters').length === 1 && votersOf(world).length === 1;
}

function leadsOf({ node }: Member): number {
  return node?.leads ?? 0;
}
