/**
 * A recovery of the catalog, as it shows in Kubernetes: the CairnCluster has its stage in an annotation, and the pod
 * that runs `cairn recover` has its arguments in one.
 */
import { parseJson } from '../kube/index.ts';
import type { RecoveryRun } from '../objects/index.ts';
import { type Claim, containerOf, DATA, type Pod, RECOVERY_ANNOTATION, STOPPED } from './kinds.ts';
import { isReleased, type World } from './world.ts';

export function runIn(annotations: Readonly<Record<string, string>> | undefined): RecoveryRun | undefined {
  const text = annotations?.[RECOVERY_ANNOTATION];
  return text === undefined || text === STOPPED ? undefined : parseJson<RecoveryRun>(text);
}

/** Claims of the nodes that a cluster which was founded again does not have. */
export function lostClaims({ cluster, claims, recoveryPod: pod }: World): readonly Claim[] {
  const run = runIn((endOf(pod)?.exitCode === 0 ? pod : cluster)?.metadata.annotations);
  if (run === undefined) return [];
  return claims.filter((claim) => claim.metadata.name !== `${DATA}${run.survivor}` && !isReleased(claim));
}

/**
 * The pod of the survivor while it starts alone, after everything else is done. Its volume may fit one Kubernetes node,
 * which a pod with a new volume could take.
 */
export function firstPodOf(world: World): string | undefined {
  const { cluster, recoveryPod } = world;
  const run = runIn(cluster.metadata.annotations);
  const isDone = recoveryPod === undefined && lostClaims(world).length === 0 && cluster.status?.recoveryID === run?.id;
  return isDone ? run?.survivor : undefined;
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
