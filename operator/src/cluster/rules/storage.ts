/**
 * Rules for the volumes. Claims grow first; then the StatefulSet, whose templates are immutable, is deleted under its
 * pods and applied again. They come after all others, so that storage which cannot grow stops nothing else.
 */
import { hasFinalizer } from '../../reconcile/index.ts';
import type { Action } from '../actions.ts';
import { bytesOf, CLAIM, containerOf, FINALIZER, GROWN_ANNOTATION, isTerminating, STATEFUL_SET } from '../kinds.ts';
import { storageSize, wantedOf } from '../wanted.ts';
import { isOwnerOfPods, isReleased, type Member, membersIn, membersOf, type World } from '../world.ts';

const GROWTH = 1.25;
const GIB = 2 ** 30;
/** Exit code of a node that cannot start because its disk is full. */
const DISK_FULL = 74;
/** Starts may fail while a volume grows. A kubelet tries again within five minutes. */
const RETRIED_MS = 600_000;

export function resize(world: World): readonly Action[] | undefined {
  const size = grownSize(world);
  const annotations = { [GROWN_ANNOTATION]: new Date(world.nowMs).toISOString() };
  const body = { metadata: { annotations }, spec: { resources: { requests: { storage: size } } } };
  return membersOf(world).flatMap(({ claim }) => {
    if (claim === undefined || isTerminating(claim) || isReleased(claim)) return [];
    if (bytesOf(claim.spec?.resources?.requests?.storage) >= bytesOf(size)) return [];
    return [{ kind: 'patch' as const, of: CLAIM, object: claim, body }];
  });
}

/** KC13. */
export function recreateSet(world: World): readonly Action[] | undefined {
  const { cluster, sets } = world;
  if (!hasFinalizer(cluster, FINALIZER) || !isOwnerOfPods(world)) return undefined;
  // The number of pods that are wanted follows from the claims while there is no StatefulSet.
  const pool = wantedOf(world).poolsWithOtherTemplates.find(
    (each) => membersIn(world, each).at(-1)?.claim !== undefined,
  );
  const set = pool && sets[pool];
  if (set === undefined) return undefined;
  return [
    { kind: 'delete', of: STATEFUL_SET, object: set, why: 'its volume claim templates have changed', how: 'Orphan' },
  ];
}

export function fullMembersOf(world: World): readonly Member[] {
  const { thresholdPercent = 90 } = world.cluster.spec.storage.autoGrow ?? {};
  return membersOf(world).filter(
    (member) => (member.node?.diskUsedPercent ?? 0) >= thresholdPercent || isStuck(member),
  );
}

/** Returns true when a node could not start because its disk is full, and its volume was not enlarged for that. */
function isStuck({ pod, claim, node }: Member): boolean {
  const grownMs = Date.parse(claim?.metadata.annotations?.[GROWN_ANNOTATION] ?? '') || -RETRIED_MS;
  const end = containerOf(pod)?.lastState?.terminated;
  const hasEnded = end?.exitCode === DISK_FULL && Date.parse(end.finishedAt) > grownMs + RETRIED_MS;
  return hasEnded && node?.answers !== true;
}

/** The next size of the volumes: larger than now when one of them is nearly full, and its last growth has ended. */
function grownSize(world: World): string {
  const now = storageSize(world);
  const { autoGrow } = world.cluster.spec.storage;
  if (autoGrow === undefined || bytesOf(now) >= bytesOf(autoGrow.maxSize)) return now;
  const capacities = fullMembersOf(world).map(({ claim }) => bytesOf(claim?.status?.capacity?.storage));
  if (!capacities.some((capacity) => capacity >= bytesOf(now))) return now;
  const next = `${Math.ceil((bytesOf(now) * GROWTH) / GIB)}Gi`;
  return bytesOf(next) > bytesOf(autoGrow.maxSize) ? autoGrow.maxSize : next;
}
