/** The rule that ends an upgrade (KC5). */
import { CAIRN_CLUSTER } from '../../api/index.ts';
import { type Action, metadataPatch } from '../actions.ts';
import { FINAL_ANNOTATION } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import { ailmentAmong, isOutdated, membersOf, nodesOf, type World } from '../world.ts';

export function finalize(world: World): readonly Action[] | undefined {
  const { cluster, nowMs } = world;
  const { finalize: policy, finalizeAfterSeconds } = cluster.spec.update;
  const level = levelToRaise(world);
  if (level === undefined || policy === 'Manual' || !isUniform(world)) return undefined;
  const applied = cluster.status?.conditions?.find(({ type }) => type === 'ConfigurationApplied');
  if (applied?.status !== 'True' || applied.observedGeneration !== cluster.metadata.generation) return undefined;
  if (nowMs - Date.parse(applied.lastTransitionTime) < finalizeAfterSeconds * 1000) return undefined;
  const final = `${cluster.spec.version}@${level}`;
  return [metadataPatch(CAIRN_CLUSTER, cluster, 'annotations', { [FINAL_ANNOTATION]: final }), { kind: 'finalize' }];
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
