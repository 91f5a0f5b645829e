/** Rules for the owned objects: they are as the spec says, and end with the cluster. */
import { CAIRN_CLUSTER } from '../../api/index.ts';
import { type Action, wait } from '../actions.ts';
import { CLAIM, FINALIZER, isTerminating, POD, STATEFUL_SET } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import { isOwnerOfPods, type WantedObject, type World } from '../world.ts';

/** A cluster that is being deleted and has the finalizer: its pods end, then its volumes, unless they are kept. */
export function deletion(world: World): readonly Action[] | undefined {
  const { cluster, set, pods, recoveryPod } = world;
  if (cluster.metadata.deletionTimestamp === undefined) return undefined;
  const going = wait('Deleting', 'the cluster is being deleted');
  if (!hasFinalizer(world)) return going;
  const why = 'the CairnCluster is deleted';
  if (set !== undefined && !isTerminating(set)) return [{ kind: 'delete', of: STATEFUL_SET, object: set, why }];
  if (set !== undefined) return going;
  // Pods have no owner when the StatefulSet was deleted under them.
  const pod = [...pods, recoveryPod].find((each) => each !== undefined && !isTerminating(each));
  if (pod !== undefined) return [{ kind: 'delete', of: POD, object: pod, why }];
  if (pods.length > 0) return going;
  const claims = cluster.spec.reclaimPolicy === 'Delete' ? world.claims : [];
  const claim = claims.find((each) => !isTerminating(each));
  if (claim !== undefined) return [{ kind: 'delete', of: CLAIM, object: claim, why }];
  return claims.length > 0 ? going : [finalizers(world, false)];
}

/** A cluster has a finalizer while Kubernetes would not delete all that ends with it: volumes, and pods without an owner. */
export function finalizer(world: World): readonly Action[] | undefined {
  const isKept = world.cluster.spec.reclaimPolicy === 'Retain' && isOwnerOfPods(world);
  const isWanted = !isKept || wantedOf(world).hasOtherTemplates;
  return hasFinalizer(world) === isWanted ? undefined : [finalizers(world, isWanted)];
}

/** Applies the objects that differ, in the order in which pods need them. */
export function install(world: World): readonly Action[] | undefined {
  return changesOf(wantedOf(world).objects, world);
}

/** Applies those objects that differ. An object that is being deleted is created again later. */
export function changesOf(wanted: readonly WantedObject[], world: World): readonly Action[] {
  const found = new Map(world.owned.map((object) => [keyOf(object), object]));
  return wanted.flatMap((object): readonly Action[] => {
    const live = found.get(keyOf(object));
    if (world.isApplied(object) || (live !== undefined && isTerminating(live))) return [];
    return [{ kind: 'apply', object, uid: live?.metadata.uid }];
  });
}

/** Deletes owned objects that the spec no longer wants, such as the routes of a Gateway. */
export function unwanted(world: World): readonly Action[] | undefined {
  const wanted = new Set(wantedOf(world).objects.map(keyOf));
  const object = world.owned.find((each) => !wanted.has(keyOf(each)) && !isTerminating(each));
  if (object === undefined) return undefined;
  return [{ kind: 'delete', of: object.of, object, why: 'the spec no longer wants it' }];
}

function keyOf({ kind, metadata }: Pick<WantedObject, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`;
}

export function hasFinalizer({ cluster }: World): boolean {
  return cluster.metadata.finalizers?.includes(FINALIZER) ?? false;
}

function finalizers({ cluster }: World, isWanted: boolean): Action {
  const { finalizers: found = [], resourceVersion } = cluster.metadata;
  const others = found.filter((each) => each !== FINALIZER);
  const body = { metadata: { finalizers: isWanted ? [...others, FINALIZER] : others, resourceVersion } };
  return { kind: 'patch', of: CAIRN_CLUSTER, object: cluster, body };
}
