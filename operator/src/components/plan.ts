/** From a component resource and what databases have of it to the next actions. Pure. */
import type { ComponentId, Maintenance } from '../client/index.ts';
import { hasFinalizer, isAbandoned } from '../reconcile/index.ts';
import { progressOf } from './rollout.ts';
import { maintenanceOf, stageOf, surplusOf } from './stage.ts';
import type { ComponentResource, Target, Wanted, World } from './world.ts';

export const FINALIZER = 'cairn.dev/component';

export type Action = { readonly kind: 'hold' } | { readonly kind: 'release' } | DatabaseAction;

export type DatabaseAction =
  | { readonly kind: 'publish'; readonly target: Target; readonly wanted: Wanted }
  | { readonly kind: 'activate'; readonly id: ComponentId; readonly version: number; readonly maintenance: Maintenance }
  | { readonly kind: 'deactivate'; readonly id: ComponentId; readonly version: number }
  | { readonly kind: 'delete'; readonly id: ComponentId; readonly version?: number };

export function plan(world: World): readonly Action[] {
  const { resource, source, targets } = world;
  const isHeld = hasFinalizer(resource, FINALIZER);
  const wantsHold = resource.spec.reclaimPolicy === 'Delete';
  if (resource.metadata.deletionTimestamp !== undefined) return isHeld ? planDeletion(world) : [];
  if (isHeld !== wantsHold) return [{ kind: wantsHold ? 'hold' : 'release' }];
  if ('problem' in source) return [];
  const { admitted, hasFailed = false, verdict } = progressOf(world, source);
  const chosen = targets.filter(({ name }) => admitted.has(name));
  if (hasFailed) return chosen.flatMap((target) => planRollback(resource, target));
  // The status records it first, so that the rollout does not begin again (KP7).
  if (verdict?.kind === 'missed') return [];
  return chosen.flatMap((target) => planTarget(resource, source, target, verdict !== undefined));
}

/** The previous version is active before the new one ends (KP7). */
function planRollback({ spec, status }: ComponentResource, { id, published, state }: Target): readonly Action[] {
  if (spec.rollout.analysis?.onFailure !== 'RollBack' || !('versions' in state)) return [];
  const own = state.versions.find(({ version }) => version === published?.version);
  if (own?.isActive !== true) return [];
  const others = state.versions.filter(({ version }) => version !== own.version);
  const previous = others.findLast(({ digest }) => digest === status?.previousDigest);
  const hasEnded =
    previous !== undefined && (previous.version > own.version || !others.some(({ isActive }) => isActive));
  if (previous?.isActive === false && hasEnded)
    return [{ kind: 'activate', id, version: previous.version, maintenance: previous.maintenance }];
  return [{ kind: 'deactivate', id, version: own.version }];
}

/** Old versions are kept while the new one is judged. */
function planTarget(resource: ComponentResource, wanted: Wanted, target: Target, isJudged: boolean): readonly Action[] {
  const { id, published, state } = target;
  const stage = stageOf(resource, wanted, target);
  if (stage === 'unpublished') return [{ kind: 'publish', target, wanted }];
  if (stage === 'inactive')
    return [{ kind: 'activate', id, version: published?.version ?? 0, maintenance: maintenanceOf(resource) }];
  if (stage !== 'surplus' || !('versions' in state)) return [];
  const { ended, deleted: surplus } = surplusOf(resource, target, state.versions);
  const deleted = isJudged ? [] : surplus;
  const active = deleted.filter(({ isActive }) => isActive).map(({ version }) => version);
  return [
    ...[...ended, ...active].map((version) => ({ kind: 'deactivate' as const, id, version })),
    ...deleted.map(({ version }) => ({ kind: 'delete' as const, id, version })),
  ];
}

function planDeletion({ resource, targets, wallMs }: World): readonly Action[] {
  const release: Action = { kind: 'release' };
  if (resource.spec.reclaimPolicy === 'Retain' || isAbandoned(resource, wallMs)) return [release];
  const left = targets.filter(({ state }) => 'versions' in state && state.versions.length > 0);
  if (left.length > 0) return left.map(({ id }) => ({ kind: 'delete', id }));
  return targets.some(({ state }) => 'problem' in state && !state.isGone) ? [] : [release];
}
