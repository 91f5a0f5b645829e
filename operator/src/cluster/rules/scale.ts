/**
 * Rules for the number of nodes.
 *
 * ```
 *   up     claims of removed nodes deleted ──> replicas raised ──> nodes join by themselves
 *   down   claim marked as retiring ──> node leaves ──> node removed ──> claim marked as released ──> replicas lowered
 * ```
 * One node of a pool leaves at a time, the one of the highest ordinal first.
 */
import type { Pool } from '../../objects/index.ts';
import { type Action, metadataPatch, wait } from '../actions.ts';
import { CLAIM, isTerminating, POD, RELEASED_LABEL, RETIRING_ANNOTATION } from '../kinds.ts';
import {
  ailmentAmong,
  drainStartMs,
  isReleased,
  type Member,
  memberOf,
  membersIn,
  replicasOf,
  stayingIn,
  type World,
  wantedIn,
} from '../world.ts';

/** Deletes claims of removed nodes whose ordinals are used again: their data has moved to other nodes. */
export function reuse(world: World, pool: Pool): readonly Action[] | undefined {
  for (let ordinal = 0; ordinal < wantedIn(world, pool); ordinal += 1) {
    const { name, claim, pod } = memberOf(world, ordinal, pool);
    if (claim === undefined || !isReleased(claim)) continue;
    const why = `node ${claim.metadata.labels?.[RELEASED_LABEL]} was removed, and ${name} joins as a new one`;
    // The pod of a removed node is never ready.
    const expects = [{ name, uid: pod?.metadata.uid, readyMs: undefined }];
    if (!isTerminating(claim)) return [{ kind: 'delete', of: CLAIM, object: claim, why, expects }];
    if (pod !== undefined && !isTerminating(pod)) return [{ kind: 'delete', of: POD, object: pod, why, expects }];
  }
  return undefined;
}

/** Keeps a node that was about to leave when spec.replicas or spec.learners was raised again. */
export function abandonRetirement(world: World, pool: Pool): readonly Action[] | undefined {
  const { description } = world;
  if (description?.isConfirmed !== true) return undefined;
  for (const { ordinal, name, claim } of membersIn(world, pool)) {
    const retiring = claim?.metadata.annotations?.[RETIRING_ANNOTATION];
    if (claim === undefined || retiring === undefined || ordinal >= wantedIn(world, pool)) continue;
    const node = description.nodes.find(({ id }) => id === Number(retiring));
    if (node?.state === 'leaving') return [{ kind: 'recommission', node: node.id, name }];
    const marks = metadataPatch(CLAIM, claim, 'annotations', { [RETIRING_ANNOTATION]: null });
    return node?.state === 'removed' ? [released(claim, node.id), marks] : [marks];
  }
  return undefined;
}

/** Removes a node when there are too many. More are started by the StatefulSet, whose number of pods is wanted.ts's. */
export function scale(world: World, pool: Pool): readonly Action[] | undefined {
  const count = replicasOf(world, pool) ?? 0;
  const next = memberOf(world, count, pool);
  if (count < wantedIn(world, pool) && isReleased(next.claim))
    return wait('ScalingUp', `the volume of ${next.name} is being deleted`);
  if (count <= wantedIn(world, pool)) return undefined;
  if (world.description?.isConfirmed !== true) {
    return wait('ScaleDownWaits', 'the cluster does not answer, or has no leader of its catalog');
  }
  const { name, claim, node } = memberOf(world, count - 1, pool);
  if (node === undefined || node.state === 'removed') {
    return claim === undefined || isReleased(claim) ? undefined : [released(claim, node?.id ?? 0)];
  }
  // A pod whose replacement has begun is replaced first.
  if (membersIn(world, pool).some(({ pod }) => drainStartMs(pod) !== undefined)) return undefined;
  const ailment = pool === 'voters' ? ailmentAmong(stayingIn(world, pool), world) : undefined;
  if (ailment !== undefined) return wait('ScaleDownWaits', ailment);
  if (node.state === 'leaving')
    return wait('ScalingDown', `node ${node.id} (${name}) moves its replicas to other nodes`);
  const order: Action = { kind: 'decommission', node: node.id, name };
  if (claim === undefined) return [order];
  return [metadataPatch(CLAIM, claim, 'annotations', { [RETIRING_ANNOTATION]: String(node.id) }), order];
}

function released(claim: NonNullable<Member['claim']>, node: number): Action {
  return metadataPatch(CLAIM, claim, 'labels', { [RELEASED_LABEL]: String(node) });
}
