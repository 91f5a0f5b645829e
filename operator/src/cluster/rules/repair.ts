/**
 * Rules that replace a lost node by one with an empty volume, and remove the lost one from the cluster afterwards.
 *
 * A node is lost when it does not answer, its pod is not ready, and the reason lasts: its volume is lost or is on a
 * Kubernetes node that is gone, the Kubernetes node of its pod is gone or not ready, or it was removed by hand.
 */
import type { Pool } from '../../objects/index.ts';
import { type Action, expectedOf, metadataPatch, wait } from '../actions.ts';
import { CLAIM, isReady, isTerminating, LOST_ANNOTATION, POD, sinceMs, volumeNodeOf } from '../kinds.ts';
import { ailmentAmong, hasQuorumWithout, type Member, membersIn, orphansOf, stayingIn, type World } from '../world.ts';

/** Records since when a node is lost. A pod that is not ready does not show it: its node may answer all the time. */
export function mark(world: World, pool: Pool): readonly Action[] | undefined {
  return membersIn(world, pool).flatMap((member): readonly Action[] => {
    const { claim, pod } = member;
    if (claim === undefined) return [];
    const isMarked = claim.metadata.annotations?.[LOST_ANNOTATION] !== undefined;
    const isLost = causeOf(member, world) !== undefined;
    // A pod that does not exist for a moment is no sign of its node.
    if (isMarked === isLost || (isMarked && pod === undefined)) return [];
    const since = isLost ? new Date(world.nowMs).toISOString() : null;
    return [metadataPatch(CLAIM, claim, 'annotations', { [LOST_ANNOTATION]: since })];
  });
}

/** KC2, KC4. */
export function lost(world: World, pool: Pool): readonly Action[] | undefined {
  const { cluster, description } = world;
  if (cluster.spec.repair.policy === 'Manual' || description?.isConfirmed !== true) return undefined;
  // The rule scale waits for the members that stay.
  const target = stayingIn(world, pool).find((member) => isOverdue(member, world));
  if (target === undefined) return undefined;
  const { name, claim, pod } = target;
  const others = stayingIn(world, 'voters').filter((member) => !isOverdue(member, world));
  const ailment = ailmentAmong(others, world);
  if (ailment !== undefined) return wait('RepairWaits', `${name} is not replaced yet: ${ailment}`);
  if (!hasQuorumWithout(target, world)) return undefined;
  // A database without a leader may need the replica of the lost node to have a quorum again.
  const stuck = description.databases.find(({ leader }) => leader === undefined);
  if (stuck !== undefined)
    return wait('RepairWaits', `${name} is not replaced yet: database ${stuck.name} has no leader`);
  const why = `${name} is lost: ${causeOf(target, world)}`;
  const expects = expectedOf([target, ...others]);
  const kubeNode = pod?.spec?.nodeName ?? (claim && volumeNodeOf(claim));
  const isNodeLost = world.kubeNodes !== undefined && !isReady(world.kubeNodes.get(kubeNode ?? ''));
  const guards = { why, expects, lostNode: isNodeLost ? kubeNode : undefined };
  if (claim !== undefined && !isTerminating(claim)) return [{ kind: 'delete', of: CLAIM, object: claim, ...guards }];
  return pod && [{ kind: 'delete', of: POD, object: pod, ...guards, how: 'Now' }];
}

/** Waits for the time at which a lost node is replaced. Meanwhile the status says why it is lost. */
export function awaited(world: World, pool: Pool): readonly Action[] | undefined {
  if (world.cluster.spec.repair.policy === 'Manual') return undefined;
  const member = membersIn(world, pool).find((each) => causeOf(each, world) !== undefined && !isOverdue(each, world));
  if (member === undefined) return undefined;
  const why = `${member.name} is lost: ${causeOf(member, world)}`;
  return wait('RepairWaits', `${why}; it is replaced after repair.afterSeconds`);
}

/** Removes nodes from the cluster whose place another node has taken. */
export function orphans(world: World, pool: Pool): readonly Action[] | undefined {
  if (world.description?.isConfirmed !== true) return undefined;
  const node = orphansOf(world, pool).find(({ state }) => state === 'active');
  if (node === undefined || ailmentAmong(membersIn(world, 'voters'), world) !== undefined) return undefined;
  return [{ kind: 'decommission', node: node.id, name: node.name }];
}

/** Why a member is lost; undefined when it is not. */
function causeOf({ pod, claim, node }: Member, { kubeNodes, cluster }: World): string | undefined {
  // The StatefulSet controller makes the claim of a pod that waits for one.
  if (pod === undefined || claim === undefined || isReady(pod)) return undefined;
  if (node?.state === 'removed') return `its node ${node.id} was removed from the cluster`;
  // A cluster that was never founded has no node to lose.
  if (node?.answers !== false || cluster.status?.clusterID === undefined) return undefined;
  if (claim.status?.phase === 'Lost') return 'its volume is lost';
  if (kubeNodes === undefined) return undefined;
  const { nodeName } = pod.spec ?? {};
  if (nodeName !== undefined) {
    const kubeNode = kubeNodes.get(nodeName);
    if (kubeNode === undefined) return `its Kubernetes node ${nodeName} is gone`;
    return isReady(kubeNode) ? undefined : `its Kubernetes node ${nodeName} is not ready`;
  }
  const volumeNode = volumeNodeOf(claim);
  if (volumeNode === undefined || kubeNodes.has(volumeNode)) return undefined;
  return `its volume is on the Kubernetes node ${volumeNode}, which is gone`;
}

/** Returns true when a member is lost for repair.afterSeconds. */
function isOverdue(member: Member, world: World): boolean {
  if (causeOf(member, world) === undefined) return false;
  const { pod, claim } = member;
  const markedMs = Date.parse(claim?.metadata.annotations?.[LOST_ANNOTATION] ?? '');
  const sinceReadyMs = sinceMs(pod, 'Ready') ?? 0;
  return world.nowMs - Math.max(markedMs, sinceReadyMs) >= world.cluster.spec.repair.afterSeconds * 1000;
}
