/** Progress of a component in one database. Pure. */
import type { ComponentVersion, Maintenance } from '../client/index.ts';
import type { ComponentResource, Target, Wanted } from './world.ts';

export type Stage = 'unknown' | 'unpublished' | 'refused' | 'distributing' | 'inactive' | 'surplus' | 'done';

/** The first thing that is missing, in the order in which a version is rolled out. */
export function stageOf(resource: ComponentResource, { digest, publication }: Wanted, target: Target): Stage {
  const { published, state } = target;
  if ('problem' in state) return 'unknown';
  const { versions, holders } = state;
  const own = versions.find(({ version }) => version === published?.version);
  if (own?.digest !== digest || published?.publication !== publication) return 'unpublished';
  if (isActive(resource)) {
    const isUsed = own.isActive && own.maintenance === maintenanceOf(resource);
    if (!isUsed && holders.some(({ refused }) => refused.has(digest))) return 'refused';
    const isCompiled = holders.length > 0 && holders.every(({ compiled }) => compiled.has(digest));
    if (!isUsed && !isCompiled) return 'distributing';
    if (!isUsed) return 'inactive';
  }
  const { ended, deleted } = surplusOf(resource, target, versions);
  return ended.length + deleted.length > 0 ? 'surplus' : 'done';
}

export function isServing(stage: Stage): boolean {
  return stage === 'done' || stage === 'surplus';
}

export interface Surplus {
  /** Newer than the one of the source, or of what is switched off. */
  readonly ended: readonly number[];
  /** Older than those that are kept; to be ended first where they are active. */
  readonly deleted: readonly ComponentVersion[];
}

export function surplusOf(
  resource: ComponentResource,
  { published }: Target,
  versions: readonly ComponentVersion[],
): Surplus {
  const own = published?.version ?? 0;
  const ended = versions.filter(({ version, isActive: is }) => is && (version > own || !isActive(resource)));
  const { retainVersions = Number.POSITIVE_INFINITY } = resource.spec;
  const older = versions.filter(({ version }) => version < own).toSorted((left, right) => right.version - left.version);
  return { ended: ended.map(({ version }) => version), deleted: older.slice(retainVersions) };
}

/** Only a State View can be switched off. */
export function isActive({ spec }: ComponentResource): boolean {
  return 'active' in spec ? spec.active : true;
}

export function maintenanceOf({ spec }: ComponentResource): Maintenance {
  return 'maintenance' in spec ? spec.maintenance : 'Lazy';
}
