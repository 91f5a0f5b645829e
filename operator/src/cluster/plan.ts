/**
 * The plan for a cluster: lists of rules in order of precedence. The first rule of a list that applies decides for the
 * list, so that one change happens at a time. Each pool has a list, and that of the voters comes first: it never waits
 * for learners. All of it is pure.
 *
 * Invariants:
 *   KC1  The operator stops a voter in service only while all other voters are in service, and have been for
 *        stableSeconds; and a learner only while all other nodes are.
 *   KC2  It never takes the quorum: a majority of the voters is in service without the node that it stops, replaces or
 *        removes. A single node is the exception: it restarts, and is never replaced.
 *   KC3  A pod is removed by a lower number of replicas only after its node was removed from the cluster, which moves
 *        its replicas first.
 *   KC4  The claim of a node in service is never deleted. A claim is deleted when its node is lost for afterSeconds
 *        without a break, when its node was removed, or when the CairnCluster is deleted with reclaimPolicy Delete.
 *   KC5  An upgrade is finalized only when all nodes answer, and run spec.version for finalizeAfterSeconds. A release
 *        below the finalized one is not rolled out.
 *   KC6  A node that the operator drained is restarted or undrained, and so is never left drained.
 *   KC7  The plan of a converged world is empty.
 *   KC8  A pod is deleted when its node has no leaderships that others could have, or drainTimeoutSeconds after the
 *        begin of the drain.
 *   KC9  A database is recovered only for a spec.recovery whose id was not carried out yet. A lost node is not replaced
 *        while a database has no leader: it may need the replica that the node has.
 *   KC10 A plan follows from the CairnCluster that the API server has then, and its status changes only over that version.
 *        The deletion or change of an object names its uid. Objects and finalizers of other parties stay.
 *   KC11 Volumes grow to autoGrow.maxSize at most, and because of a full one only after its last growth has ended.
 *   KC12 The nodes are stopped together only for a spec.recovery whose id was not carried out yet, while the voters that
 *        may come back are no majority. The data of the survivor changes only while no pod of a node exists, and with
 *        the code of that data in acceptLoss. The claim of the survivor is never deleted; the others are deleted after
 *        the change, also when the CairnCluster is deleted then. KC3 and KC4 do not apply meanwhile.
 *   KC13 The StatefulSet is deleted under its pods only when it owns all of them, because Kubernetes deletes the pods
 *        that it adopts meanwhile; and only while the CairnCluster has a finalizer, because Kubernetes keeps pods without
 *        an owner.
 *   KC14 Learners are part of no quorum: but for KC5 and KC12, what is done for voters never waits for a learner. The
 *        removal of a learner needs no other node in service.
 */
import { POOLS, type Pool } from '../objects/index.ts';
import type { Action } from './actions.ts';
import { deletion, finalizer } from './rules/deletion.ts';
import { finalize } from './rules/finalize.ts';
import { install, installRest, unwanted } from './rules/objects.ts';
import { recovery } from './rules/recovery.ts';
import { refound, stop, waitToStop } from './rules/refounding.ts';
import { awaited, lost, mark, orphans } from './rules/repair.ts';
import { fix, roll, undo } from './rules/roll.ts';
import { abandonRetirement, reuse, scale } from './rules/scale.ts';
import { recreateSet, resize } from './rules/storage.ts';
import type { World } from './world.ts';

type Rule = (world: World, pool: Pool) => readonly Action[] | undefined;

/** While one of them applies, the rules of the pools wait. */
const OF_CLUSTER: readonly Rule[] = [deletion, finalizer, refound, stop, recovery];

const OF_POOLS: Readonly<Record<Pool, readonly Rule[]>> = {
  voters: [undo, abandonRetirement, reuse, install, fix, mark, lost, orphans, waitToStop, scale, roll, awaited],
  learners: [abandonRetirement, reuse, install, fix, mark, lost, orphans, scale, roll, awaited],
};

const OF_VOLUMES: readonly Rule[] = [resize, recreateSet];

/** No node waits for what they do. */
const LAST: readonly Rule[] = [installRest, unwanted, finalize];

export function plan(world: World): readonly Action[] {
  const first = firstOf(OF_CLUSTER, world);
  if (world.cluster.metadata.deletionTimestamp !== undefined) return first;
  const volumes = firstOf(OF_VOLUMES, world);
  if (first.length > 0) return [...first, ...volumes];
  const pools = POOLS.flatMap((pool) => firstOf(OF_POOLS[pool], world, pool));
  return [...pools, ...volumes, ...firstOf(LAST, world)];
}

function firstOf(rules: readonly Rule[], world: World, pool: Pool = 'voters'): readonly Action[] {
  for (const rule of rules) {
    const actions = rule(world, pool) ?? [];
    if (actions.length > 0) return actions;
  }
  return [];
}
