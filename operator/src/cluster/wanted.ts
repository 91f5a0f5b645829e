/** The objects to apply now: those of the spec, with the number of pods and the size of volumes that are due. */
import { sha256Of } from '../kube/index.ts';
import { bytesOf, type Claim, isTerminating, ordinalOf, TEMPLATE_ANNOTATION } from './kinds.ts';
import { firstPodOf } from './refounded.ts';
import { isReleased, isStopped, memberOf, membersOf, replicasOf, type WantedObject, type World } from './world.ts';

export interface WantedObjects {
  readonly objects: readonly WantedObject[];
  readonly hash: string;
  /** True when the StatefulSet makes claims of a wrong size or class. That part of it is immutable. */
  readonly hasOtherTemplates: boolean;
}

interface RenderedSet extends WantedObject {
  readonly spec: {
    readonly template: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } };
    readonly volumeClaimTemplates: readonly (Omit<Claim, 'metadata' | 'status'> & { readonly metadata: object })[];
  };
}

const cache = new WeakMap<World, WantedObjects>();

export function wantedOf(world: World): WantedObjects {
  const known = cache.get(world);
  if (known !== undefined) return known;
  const rendered = world.render({ replicas: podCount(world), storageSize: storageSize(world) });
  const set = rendered.find(isSet);
  const hash = sha256Of(JSON.stringify(set?.spec.template)).slice(0, 16);
  const objects = rendered.map((object) => (isSet(object) ? completed(object, world, hash) : object));
  const wanted = { objects, hash, hasOtherTemplates: hasOtherTemplates(world, set) };
  cache.set(world, wanted);
  return wanted;
}

/** Number of pods that there should be now. It follows spec.replicas as fast as nodes leave (KC3). */
function podCount(world: World): number {
  const { cluster, set, pods, claims, description } = world;
  const { replicas } = cluster.spec;
  const found = replicasOf(world);
  if (isStopped(cluster)) return firstPodOf(world) === undefined ? 0 : 1;
  const isPart = found === 0 || (set?.spec.ordinals?.start ?? 0) > 0;
  if (found === undefined || (isPart && cluster.status?.clusterID !== undefined)) {
    // The StatefulSet was deleted under its pods or with its volumes kept, or a recovery has stopped the nodes. The
    // nodes are members of the cluster.
    const kept = claims.filter((claim) => !isReleased(claim));
    return Math.max(replicas, ...[...pods, ...kept].map(({ metadata }) => ordinalOf(metadata.name) + 1));
  }
  if (isStillborn(world) || (found === 0 && pods.length > 0)) return 0;
  if (replicas >= found) return replicas;
  const { claim, node } = memberOf(world, found - 1);
  const isGone = description?.isConfirmed === true && (node === undefined || node.state === 'removed');
  return isGone && (claim === undefined || isReleased(claim)) ? found - 1 : found;
}

/**
 * Returns true when a cluster waits for more nodes than there can be and was never founded. Its pods have the list of
 * the first nodes from their start, so all of them are removed before fewer are started.
 */
export function isStillborn(world: World): boolean {
  const { cluster, description } = world;
  const found = replicasOf(world) ?? 0;
  if (found <= cluster.spec.replicas || cluster.status?.clusterID !== undefined || description !== undefined)
    return false;
  return membersOf(world).some(({ pod }) => pod !== undefined && pod.spec?.nodeName === undefined);
}

/** Size of the volumes: that of the spec, or of the largest claim, which may have grown. */
export function storageSize({ cluster, claims }: World): string {
  const sizes = claims
    .filter((claim) => !isReleased(claim) && !isTerminating(claim))
    .map(({ spec }) => spec?.resources?.requests?.storage ?? '0');
  return sizes.reduce((most, size) => (bytesOf(size) > bytesOf(most) ? size : most), cluster.spec.storage.size);
}

function hasOtherTemplates({ set }: World, rendered: RenderedSet | undefined): boolean {
  const [found, wanted] = [set, rendered].map((each) => each?.spec.volumeClaimTemplates?.[0]?.spec);
  if (found === undefined || wanted === undefined) return false;
  const [one, other] = [found, wanted].map(({ resources }) => bytesOf(resources?.requests?.storage));
  const { storageClassName } = wanted;
  return one !== other || (storageClassName !== undefined && storageClassName !== found.storageClassName);
}

function isSet(object: WantedObject): object is RenderedSet {
  return object.kind === 'StatefulSet';
}

/** The StatefulSet with the hash in the annotations of its pods, and with the immutable part that it has already. */
function completed(object: RenderedSet, world: World, hash: string): WantedObject {
  const { template, volumeClaimTemplates } = object.spec;
  const annotations = { ...template.metadata?.annotations, [TEMPLATE_ANNOTATION]: hash };
  const [found] = world.set?.spec.volumeClaimTemplates ?? [];
  const kept = found?.spec;
  const templates = volumeClaimTemplates.map((claim) => {
    if (kept === undefined) return claim;
    const { storageClassName: _wanted, ...spec } = claim.spec ?? {};
    const { storageClassName, resources } = kept;
    return { ...claim, spec: { ...spec, ...(storageClassName !== undefined && { storageClassName }), resources } };
  });
  const made = { ...template, metadata: { ...template.metadata, annotations } };
  const first = firstPodOf(world);
  const ordinals = first && { ordinals: { start: ordinalOf(first) } };
  return { ...object, spec: { ...object.spec, ...ordinals, template: made, volumeClaimTemplates: templates } };
}
