/**
 * Rules for the end of a cluster. Kubernetes deletes what the CairnCluster owns. A finalizer keeps the CairnCluster
 * while there is more to delete: volumes, or pods without an owner.
 */
import { CAIRN_CLUSTER } from '../../api/index.ts';
import { finalizersOf, hasFinalizer } from '../../reconcile/index.ts';
import { type Action, wait } from '../actions.ts';
import { CLAIM, FINALIZER, isTerminating, POD, STATEFUL_SET } from '../kinds.ts';
import { lostClaims } from '../refounded.ts';
import { wantedOf } from '../wanted.ts';
import { isOwnerOfPods, isStopped, setsOf, type World } from '../world.ts';

export function deletion(world: World): readonly Action[] | undefined {
  const { cluster, pods, recoveryPod } = world;
  if (cluster.metadata.deletionTimestamp === undefined) return undefined;
  const going = wait('Deleting', 'the cluster is being deleted');
  if (!hasFinalizer(cluster, FINALIZER)) return going;
  const why = 'the CairnCluster is deleted';
  const sets = setsOf(world);
  const set = sets.find((each) => !isTerminating(each));
  if (set !== undefined) return [{ kind: 'delete', of: STATEFUL_SET, object: set, why }];
  if (sets.length > 0) return going;
  const pod = pods.find((each) => !isTerminating(each));
  if (pod !== undefined) return [{ kind: 'delete', of: POD, object: pod, why }];
  const claims = cluster.spec.reclaimPolicy === 'Delete' ? world.claims : lostClaims(world);
  if (pods.length > 0 && claims.length > 0) return going;
  const claim = claims.find((each) => !isTerminating(each));
  if (claim !== undefined) return [{ kind: 'delete', of: CLAIM, object: claim, why }];
  // It shows which claims a recovery has left behind.
  if (recoveryPod !== undefined && !isTerminating(recoveryPod))
    return [{ kind: 'delete', of: POD, object: recoveryPod, why }];
  return claims.length > 0 || recoveryPod !== undefined ? going : [finalizers(world, false)];
}

export function finalizer(world: World): readonly Action[] | undefined {
  const { cluster } = world;
  const isWanted =
    cluster.spec.reclaimPolicy === 'Delete' ||
    isStopped(cluster) ||
    !isOwnerOfPods(world) ||
    wantedOf(world).poolsWithOtherTemplates.length > 0;
  return hasFinalizer(cluster, FINALIZER) === isWanted ? undefined : [finalizers(world, isWanted)];
}

function finalizers({ cluster }: World, isWanted: boolean): Action {
  const body = { metadata: finalizersOf(cluster, FINALIZER, isWanted) };
  return { kind: 'patch', of: CAIRN_CLUSTER, object: cluster, body };
}
