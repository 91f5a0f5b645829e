/**
 * The rule that ends an upgrade (KC5).
 *
 * An annotation of the CairnCluster has the first release that ran at the feature level of the cluster. Releases below
 * it may not be able to read the data. A new cluster gets it when all nodes are in service, and so does a cluster whose
 * level was raised by hand.
 */
import { CAIRN_CLUSTER, type CairnCluster } from '../../api/index.ts';
import { type Action, metadataPatch } from '../actions.ts';
import { FINAL_ANNOTATION } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import { ailmentAmong, isOutdated, membersOf, nodesOf, type World } from '../world.ts';

export function finalize(world: World): readonly Action[] | undefined {
  const { cluster, description, nowMs } = world;
  const { finalize: policy, finalizeAfterSeconds } = cluster.spec.update;
  if (!isUniform(world)) return undefined;
  const level = levelToRaise(world);
  if (level === undefined)
    return finalOf(cluster)?.level === description?.level ? undefined : [record(cluster, description?.level)];
  if (policy === 'Manual') return undefined;
  const applied = cluster.status?.conditions?.find(({ type }) => type === 'ConfigurationApplied');
  if (applied?.status !== 'True' || applied.observedGeneration !== cluster.metadata.generation) return undefined;
  if (nowMs - Date.parse(applied.lastTransitionTime) < finalizeAfterSeconds * 1000) return undefined;
  return [record(cluster, level), { kind: 'finalize' }];
}

function record(cluster: CairnCluster, level: number | undefined): Action {
  const final = `${cluster.spec.version}@${level}`;
  return metadataPatch(CAIRN_CLUSTER, cluster, 'annotations', { [FINAL_ANNOTATION]: final });
}

function finalOf({ metadata }: CairnCluster): { readonly version: string; readonly level: number } | undefined {
  const [version = '', level] = metadata.annotations?.[FINAL_ANNOTATION]?.split('@') ?? [];
  return level === undefined ? undefined : { version, level: Number(level) };
}

/** Whether spec.version is below the release that the cluster was finalized with, whose data it cannot read. */
export function isBelowFinal({ cluster, description }: World): boolean {
  const final = finalOf(cluster);
  if (final === undefined || (description !== undefined && description.level < final.level)) return false;
  const [wanted = '', version] = [cluster.spec.version, final.version].map((each) => each.replace(/-.*/, ''));
  return wanted.localeCompare(version ?? '', 'en', { numeric: true }) < 0;
}

/** The feature level that all nodes know, when the cluster is at a lower one. */
export function levelToRaise(world: World): number | undefined {
  const { description } = world;
  const level = Math.min(...nodesOf(world).map(({ levelMax }) => levelMax));
  return description?.isConfirmed === true && Number.isFinite(level) && level > description.level ? level : undefined;
}

export function isUniform(world: World): boolean {
  const { hash } = wantedOf(world);
  const members = membersOf(world);
  return (
    world.description?.isConfirmed === true &&
    ailmentAmong(members, world) === undefined &&
    !members.some((member) => isOutdated(member, hash)) &&
    nodesOf(world).every(({ answers, release }) => answers && release === world.cluster.spec.version)
  );
}
