/**
 * A recovery of the catalog, as it shows in Kubernetes: the status of the CairnCluster has its stage, and the pod that
 * runs `cairn recover` has its run in annotations.
 */
import { runOf } from '../objects/index.ts';
import { type Claim, containerOf, DATA, type Pod } from './kinds.ts';
import { isReleased, type World } from './world.ts';

/** The pod whose data the new cluster has, once that is in the status. */
export function founderOf({ cluster: { status } }: World): string | undefined {
  return status?.recoveryStage === 'Founded' ? status.recoverySurvivor : undefined;
}

/** Claims of the nodes that a cluster which was founded again does not have. */
export function lostClaims(world: World): readonly Claim[] {
  const { claims, recoveryPod: pod } = world;
  const founder = pod !== undefined && endOf(pod)?.exitCode === 0 ? runOf(pod)?.survivor : founderOf(world);
  if (founder === undefined) return [];
  return claims.filter((claim) => claim.metadata.name !== `${DATA}${founder}` && !isReleased(claim));
}

/**
 * The pod of the survivor while it starts alone, after everything else is done. Its volume may fit one Kubernetes node,
 * which a pod with a new volume could take.
 */
export function firstPodOf(world: World): string | undefined {
  const isDone = world.recoveryPod === undefined && lostClaims(world).length === 0;
  return isDone ? founderOf(world) : undefined;
}

/** The end of the command, with its last line. */
export function endOf(pod: Pod | undefined): { readonly exitCode: number; readonly message: string } | undefined {
  const { phase, message } = pod?.status ?? {};
  const end = containerOf(pod)?.state?.terminated;
  if (end === undefined)
    return phase === 'Failed' ? { exitCode: -1, message: message ?? 'the pod has failed' } : undefined;
  const lines = end.message?.trimEnd().split('\n') ?? [];
  return { exitCode: end.exitCode, message: lines.at(-1) ?? `cairn recover ended with ${end.exitCode}` };
}
