/**
 * The rule that ends an upgrade (KC5).
 *
 * The status has the first release that ran at the feature level of the cluster. Releases below it may not be able to
 * read the data. A new cluster gets it when all nodes are in service, and so does a cluster whose level was raised by
 * hand.
 */
import type { CairnCluster } from '../../api/index.ts';
import { type Action, record } from '../actions.ts';
import { readySinceMs } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import { ailmentAmong, isOutdated, membersOf, nodesOf, type World } from '../world.ts';

export function finalize(world: World): readonly Action[] | undefined {
  const { cluster, description, nowMs } = world;
  const { spec, status } = cluster;
  const { finalize: policy, finalizeAfterSeconds } = spec.update;
  if (description === undefined || !isUniform(world)) return undefined;
  const level = levelToRaise(world);
  if (level === undefined)
    return status?.finalLevel === description.level ? undefined : [recordOf(cluster, description.level)];
  if (policy === 'Manual') return undefined;
  const applied = status?.conditions?.find(({ type }) => type === 'ConfigurationApplied');
  if (applied?.status !== 'True' || applied.observedGeneration !== cluster.metadata.generation) return undefined;
  // The condition may be older than a pod that was absent or did not start for some time.
  const readyMs = membersOf(world).map(({ pod }) => readySinceMs(pod) ?? nowMs);
  const sinceMs = Math.max(Date.parse(applied.lastTransitionTime), ...readyMs);
  if (nowMs - sinceMs < finalizeAfterSeconds * 1000) return undefined;
  // The status has the release before the level is raised, so that a crash in between loses nothing.
  const isRecorded = status?.finalLevel === level && status.finalVersion === spec.version;
  return [isRecorded ? { kind: 'finalize' } : recordOf(cluster, level)];
}

function recordOf(cluster: CairnCluster, finalLevel: number): Action {
  const { version: finalVersion } = cluster.spec;
  const why = `releases below ${finalVersion} cannot run at the feature level ${finalLevel}`;
  return record(cluster, { finalVersion, finalLevel }, why);
}

/** Returns true when spec.version is below the final release of the cluster, whose data it cannot read. */
export function isBelowFinal({ cluster: { spec, status }, description }: World): boolean {
  const { finalVersion, finalLevel = 0 } = status ?? {};
  if (finalVersion === undefined || (description !== undefined && description.level < finalLevel)) return false;
  const [wanted = '', final] = [spec.version, finalVersion].map((each) => each.replace(/-.*/, ''));
  return wanted.localeCompare(final ?? '', 'en', { numeric: true }) < 0;
}

/** The feature level that all nodes know, when the cluster is at a lower one. */
export function levelToRaise(world: World): number | undefined {
  const { description } = world;
  const level = Math.min(...nodesOf(world).map(({ levelMax }) => levelMax));
  return description?.isConfirmed === true && Number.isFinite(level) && level > description.level ? level : undefined;
}

export function isUniform(world: World): boolean {
  const { hashes } = wantedOf(world);
  const members = membersOf(world);
  return (
    world.description?.isConfirmed === true &&
    ailmentAmong(members, world) === undefined &&
    !members.some((member) => isOutdated(member, hashes)) &&
    nodesOf(world).every(({ answers, release }) => answers && release === world.cluster.spec.version)
  );
}
