/**
 * The nodes with a replica of a database, and how they change: first the catalog names the new nodes, and when the
 * group has changed its membership, the old ones are removed.
 *
 * ```
 *   replicas 1 2 3               place on 1 2 4    ->   replicas 1 2 3 4', leaving 3          placement 1
 *   the group makes its membership 1 2 4'          ->   placed: replicas 1 2 4', leaving -    placement 1, settled
 * ```
 * A leaving replica exists until the group's own committed membership is without it: the leader of the group then
 * proposes `placed`. Both entries name their placement, so that an outdated one changes nothing. The replicas that a
 * placement adds have its number, so no replica id is given twice (B5, D15).
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

/** The membership of the group is that of the placement: the leaving replicas have left. */
export function settle(binding: Binding, placement: number): Binding | undefined {
  if (binding.placement !== placement || binding.isSettled) return undefined;
  const replicas = binding.replicas.filter((each) => !binding.leaving.includes(each));
  return { ...binding, replicas, leaving: [], isSettled: true };
}
