/**
 * Which nodes hold a database, and how that changes: first who is to hold it, and when its group has done its part, who
 * does not any more.
 *
 * ```
 *   replicas 1 2 3               place on 1 2 4    ->   replicas 1 2 3 4', leaving 3          placement 1
 *   the group makes its membership 1 2 4'          ->   placed: replicas 1 2 4', leaving -    placement 1, settled
 * ```
 * A replica that is leaving is there until the group's own committed membership is without it: whoever leads the group
 * says `placed` then. Both entries name the placement that they are about, so that one which was overtaken changes
 * nothing. The copies that a placement adds have its number, so no replica id is given twice (B5, D15).
 */
import { isCopy, type NodeId, nodeOf, replicaOf } from '#base';
import type { Binding } from './catalog-rows.ts';

/** The database is to be held by these nodes and no others, if it is still at this placement. */
export function place(binding: Binding, placement: number, nodes: readonly NodeId[]): Binding | undefined {
  const next = placement + 1;
  if (binding.placement !== placement || !isCopy(next)) return undefined;
  const leaving = binding.replicas.filter((replica) => !nodes.includes(nodeOf(replica)));
  const missing = nodes.filter((node) => !binding.replicas.some((replica) => nodeOf(replica) === node));
  const isLeavingAlready =
    leaving.length === binding.leaving.length && leaving.every((each) => binding.leaving.includes(each));
  if (missing.length === 0 && isLeavingAlready) return undefined;
  const replicas = [...binding.replicas, ...missing.map((node) => replicaOf(node, next))];
  return { ...binding, replicas, leaving, placement: next, isSettled: false };
}

/** The group's membership is what this placement wants it to be: whoever was leaving has left. */
export function settle(binding: Binding, placement: number): Binding | undefined {
  if (binding.placement !== placement || binding.isSettled) return undefined;
  const replicas = binding.replicas.filter((each) => !binding.leaving.includes(each));
  return { ...binding, replicas, leaving: [], isSettled: true };
}
