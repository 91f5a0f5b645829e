/** The objects to apply now: those of the spec, with the numbers of pods and the size of volumes that are due. */
import { sha256Of } from '../kube/index.ts';
import { type DueFacts, POOLS, type Pool, poolOf, setName } from '../objects/index.ts';
import { bytesOf, type Claim, DATA, isTerminating, ordinalOf, type StatefulSet, TEMPLATE_ANNOTATION } from './kinds.ts';
import { firstPodOf } from './refounded.ts';
import {
  isReleased,
  isStopped,
  memberOf,
  membersIn,
  podsIn,
  replicasOf,
  type WantedObject,
  type World,
  wantedIn,
} from './world.ts';

export interface WantedObjects {
  readonly objects: readonly WantedObject[];
  /** Hashes of the templates of pods. */
  readonly hashes: ReadonlyMap<Pool, string>;
  /** Pools whose StatefulSet makes claims of a wrong size or class. That part of it is immutable. */
  readonly poolsWithOtherTemplates: readonly Pool[];
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
  const hashes = new Map<Pool, string>();
  const poolsWithOtherTemplates: Pool[] = [];
  const objects = world.render(dueFactsOf(world)).map((object) => {
    const pool = POOLS.find((each) => setName(world.cluster, each) === object.metadata.name);
    if (pool === undefined || !isSet(object)) return object;
    const hash = sha256Of(JSON.stringify(object.spec.template)).slice(0, 16);
    hashes.set(pool, hash);
    if (hasOtherTemplates(world.sets[pool], object)) poolsWithOtherTemplates.push(pool);
    return completed(object, world, pool, hash);
  });
  const wanted = { objects, hashes, poolsWithOtherTemplates };
  cache.set(world, wanted);
  return wanted;
}

function dueFactsOf(world: World): DueFacts {
  const [replicas, learners] = [podCount(world, 'voters'), podCount(world, 'learners')];
  const found = (replicasOf(world, 'learners') ?? 0) + podsIn(world, 'learners').length;
  const hasPool = wantedIn(world, 'learners') + learners + found > 0;
  return { replicas, ...(hasPool && { learners }), storageSize: storageSize(world) };
}

/** Number of pods that there should be in a pool now. It follows the spec as fast as nodes leave (KC3). */
function podCount(world: World, pool: Pool): number {
  const { cluster, sets, description } = world;
  const wanted = wantedIn(world, pool);
  const found = replicasOf(world, pool);
  if (isStopped(cluster)) return pool === 'voters' && firstPodOf(world) !== undefined ? 1 : 0;
  // A volume of a removed node is deleted before its ordinal has a pod again.
  const raisedFrom = (least: number): number => {
    for (let ordinal = least; ordinal < wanted; ordinal += 1)
      if (isReleased(memberOf(world, ordinal, pool).claim)) return ordinal;
    return Math.max(wanted, least);
  };
  const isPart = found === 0 || (sets[pool]?.spec.ordinals?.start ?? 0) > 0;
  if (found === undefined || (isPart && cluster.status?.clusterID !== undefined)) {
    // The StatefulSet was deleted under its pods or with its volumes kept, or a recovery has stopped the nodes. The
    // nodes are members of the cluster.
    return raisedFrom(Math.max(0, ...keptIn(world, pool).map((ordinal) => ordinal + 1)));
  }
  const isEnding = found === 0 && podsIn(world, pool).length > 0;
  if (isEnding || (pool === 'voters' && isStillborn(world))) return 0;
  if (wanted >= found) return raisedFrom(found);
  const { claim, node } = memberOf(world, found - 1, pool);
  const isGone = description?.isConfirmed === true && (node === undefined || node.state === 'removed');
  return isGone && (claim === undefined || isReleased(claim)) ? found - 1 : found;
}

/** Ordinals of the pods and claims of a pool whose nodes were not removed. */
function keptIn(world: World, pool: Pool): readonly number[] {
  const claimed = world.claims.map(({ metadata }) => metadata.name.slice(DATA.length));
  return [...world.pods.map(({ metadata }) => metadata.name), ...claimed]
    .filter((name) => poolOf(world.cluster, name) === pool)
    .map(ordinalOf)
    .filter((ordinal) => !isReleased(memberOf(world, ordinal, pool).claim));
}

/**
 * Returns true when a cluster waits for more nodes than there can be and was never founded. Its pods have the list of
 * the first nodes from their start, so all of them are removed before fewer are started.
 */
function isStillborn(world: World): boolean {
  const { cluster, description } = world;
  const found = replicasOf(world, 'voters') ?? 0;
  if (found <= cluster.spec.replicas || cluster.status?.clusterID !== undefined || description !== undefined)
    return false;
  return membersIn(world, 'voters').some(({ pod }) => pod !== undefined && pod.spec?.nodeName === undefined);
}

/** Size of the volumes: that of the spec, or of the largest claim, which may have grown. */
export function storageSize({ cluster, claims }: World): string {
  const sizes = claims
    .filter((claim) => !isReleased(claim) && !isTerminating(claim))
    .map(({ spec }) => spec?.resources?.requests?.storage ?? '0');
  return sizes.reduce((most, size) => (bytesOf(size) > bytesOf(most) ? size : most), cluster.spec.storage.size);
}

function hasOtherTemplates(set: StatefulSet | undefined, rendered: RenderedSet): boolean {
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
function completed(object: RenderedSet, world: World, pool: Pool, hash: string): WantedObject {
  const { template, volumeClaimTemplates } = object.spec;
  const annotations = { ...template.metadata?.annotations, [TEMPLATE_ANNOTATION]: hash };
  const [found] = world.sets[pool]?.spec.volumeClaimTemplates ?? [];
  const kept = found?.spec;
  const templates = volumeClaimTemplates.map((claim) => {
    if (kept === undefined) return claim;
    const { storageClassName: _wanted, ...spec } = claim.spec ?? {};
    const { storageClassName, resources } = kept;
    return { ...claim, spec: { ...spec, ...(storageClassName !== undefined && { storageClassName }), resources } };
  });
  const made = { ...template, metadata: { ...template.metadata, annotations } };
  const first = pool === 'voters' ? firstPodOf(world) : undefined;
  const ordinals = first && { ordinals: { start: ordinalOf(first) } };
  return { ...object, spec: { ...object.spec, ...ordinals, template: made, volumeClaimTemplates: templates } };
}
