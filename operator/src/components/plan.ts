/** From a component resource and what databases have of it to the next actions. Pure. */
import type { Presenter, StateChange, StateView } from '../api/index.ts';
import type { ComponentId, ComponentVersion, Holder, Maintenance } from '../client/index.ts';
import { conditionOf, hasFinalizer, isAbandoned } from '../reconcile/index.ts';

export const FINALIZER = 'cairn.dev/component';

export type ComponentResource = StateView | StateChange | Presenter;

/** The component of the source, and its metadata. */
export interface Wanted {
  /** SHA-256 of the component. */
  readonly digest: string;
  /** SHA-256 of the digest and the metadata: what a version is published of. */
  readonly publication: string;
}

export type Source = Wanted | { readonly problem: readonly [reason: string, message: string] };

/** A version that was published, and what of. */
export interface Published {
  readonly publication: string;
  readonly version: number;
}

/** A selected database. */
export interface Target {
  /** The name of the EventDatabase. */
  readonly name: string;
  readonly id: ComponentId;
  /** Undefined: not published by this resource. */
  readonly published: Published | undefined;
  readonly state:
    | { readonly versions: readonly ComponentVersion[]; readonly holders: readonly Holder[] }
    /** The database cannot be changed now. Gone: nothing of this resource is left there. */
    | { readonly problem: string; readonly isGone: boolean };
}

export interface World {
  readonly resource: ComponentResource;
  readonly source: Source;
  /** In the order of their names. */
  readonly targets: readonly Target[];
  /** Names of databases that the spec names and that do not exist. */
  readonly missing: readonly string[];
  readonly wallMs: number;
}

export type Action =
  | { readonly kind: 'hold' }
  | { readonly kind: 'release' }
  | { readonly kind: 'wait' }
  | DatabaseAction;

export type DatabaseAction =
  | { readonly kind: 'publish'; readonly target: Target; readonly wanted: Wanted }
  | { readonly kind: 'activate'; readonly id: ComponentId; readonly version: number; readonly maintenance: Maintenance }
  | { readonly kind: 'deactivate'; readonly id: ComponentId; readonly version: number }
  | { readonly kind: 'delete'; readonly id: ComponentId; readonly version?: number };

/** What is the matter with a database. */
export type Stage = 'unknown' | 'unpublished' | 'refused' | 'distributing' | 'inactive' | 'surplus' | 'done';

export function plan(world: World): readonly Action[] {
  const { resource, source, targets } = world;
  const isHeld = hasFinalizer(resource, FINALIZER);
  const wantsHold = resource.spec.reclaimPolicy === 'Delete';
  if (resource.metadata.deletionTimestamp !== undefined) return isHeld ? planDeletion(world) : [];
  if (isHeld !== wantsHold) return [{ kind: wantsHold ? 'hold' : 'release' }];
  if ('problem' in source) return [];
  const actions = targets.flatMap((target) => planTarget(resource, source, target));
  if (actions.length > 0 || isStuck(world)) return actions;
  const isDistributing = targets.some((target) => stageOf(resource, source, target) === 'distributing');
  return isDistributing ? [{ kind: 'wait' }] : [];
}

function planTarget(resource: ComponentResource, wanted: Wanted, target: Target): readonly Action[] {
  const { id, published, state } = target;
  const stage = stageOf(resource, wanted, target);
  if (stage === 'unpublished') return [{ kind: 'publish', target, wanted }];
  if (stage === 'inactive')
    return [{ kind: 'activate', id, version: published?.version ?? 0, maintenance: maintenanceOf(resource) }];
  return stage === 'surplus' && 'versions' in state ? surplusOf(resource, target, state.versions) : [];
}

/** The first thing that is missing, in the order in which a version is rolled out. */
export function stageOf(resource: ComponentResource, { digest, publication }: Wanted, target: Target): Stage {
  const { published, state } = target;
  if ('problem' in state) return 'unknown';
  const { versions, holders } = state;
  const own = versions.find(({ version }) => version === published?.version);
  if (own?.digest !== digest || published?.publication !== publication) return 'unpublished';
  if (isActive(resource)) {
    const isServing = own.isActive && own.maintenance === maintenanceOf(resource);
    if (!isServing && holders.some(({ refused }) => refused.has(digest))) return 'refused';
    const isCompiled = holders.length > 0 && holders.every(({ compiled }) => compiled.has(digest));
    if (!isServing && !isCompiled) return 'distributing';
    if (!isServing) return 'inactive';
  }
  return surplusOf(resource, target, versions).length > 0 ? 'surplus' : 'done';
}

/** Ends newer versions, and deletes older ones that are not to be kept. */
function surplusOf(
  resource: ComponentResource,
  { id, published }: Target,
  versions: readonly ComponentVersion[],
): readonly Action[] {
  const own = published?.version ?? 0;
  const ending = versions.filter(({ version, isActive: is }) => is && (version > own || !isActive(resource)));
  const { retainVersions = Number.POSITIVE_INFINITY } = resource.spec;
  const older = versions.filter(({ version }) => version < own).toSorted((left, right) => right.version - left.version);
  const deleted = older
    .slice(retainVersions)
    .flatMap(({ version, isActive: is }): readonly Action[] => [
      ...(is ? [{ kind: 'deactivate' as const, id, version }] : []),
      { kind: 'delete', id, version },
    ]);
  return [...ending.map(({ version }) => ({ kind: 'deactivate' as const, id, version })), ...deleted];
}

function planDeletion({ resource, targets, wallMs }: World): readonly Action[] {
  const release: Action = { kind: 'release' };
  if (resource.spec.reclaimPolicy === 'Retain' || isAbandoned(resource, wallMs)) return [release];
  const left = targets.filter(({ state }) => 'versions' in state && state.versions.length > 0);
  if (left.length > 0) return left.map(({ id }) => ({ kind: 'delete', id }));
  return targets.some(({ state }) => 'problem' in state && !state.isGone) ? [] : [release];
}

/** Nodes had more time than the rollout allows. */
export function isStuck({ resource, wallMs }: World): boolean {
  const progressing = conditionOf(resource, 'Progressing');
  if (progressing === undefined || progressing.observedGeneration !== resource.metadata.generation) return false;
  if (progressing.reason === 'RolloutStuck') return true;
  const sinceMs = Date.parse(progressing.lastTransitionTime);
  return progressing.status === 'True' && wallMs - sinceMs > resource.spec.rollout.timeoutSeconds * 1000;
}

/** Only a State View can be switched off. */
export function isActive({ spec }: ComponentResource): boolean {
  return 'active' in spec ? spec.active : true;
}

function maintenanceOf({ spec }: ComponentResource): Maintenance {
  return 'maintenance' in spec ? spec.maintenance : 'Lazy';
}
