/**
 * A database that has lost its quorum goes on as another instance, in another group, with what one node holds of it.
 *
 * ```
 *   name -> instance A, group 4, on nodes 1 2 3        recover group 4 from node 3 as B
 *   name -> instance B, group 9, on node 3             B's rows are made of those that node 3 has of group 4
 * ```
 * What is left of group 4 elsewhere may elect a leader and commit what it wants: nobody asks it any more. The history is
 * that of A, and so is its chain of hashes: it begins with the id of the first instance of all, the root (D19).
 */
import { type DatabaseId, type GroupId, nodeOf, replicaOf } from '#base';
import type { RecoverEntry } from './catalog-recovery.ts';
import type { Binding } from './catalog-rows.ts';

/** The binding that takes the place of this one, in that group. Undefined when the node holds no copy. */
export function recover(before: Binding, entry: RecoverEntry, group: GroupId): Binding | undefined {
  const { node, databaseId, revision, chainHash } = entry;
  if (!before.replicas.some((replica) => nodeOf(replica) === node)) return undefined;
  const { name, createdAtMs } = before;
  const replicas = [replicaOf(node)];
  const recovery = { databaseId: before.databaseId, group: before.group, rootId: rootOf(before), revision, chainHash };
  const held = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
  return { name, databaseId, group, createdAtMs, ...held, recovery };
}

/** The instance that the history of this one began with: H(0) is made of its id. */
export function rootOf({ databaseId, recovery }: Pick<Binding, 'databaseId' | 'recovery'>): DatabaseId {
  return recovery?.rootId ?? databaseId;
}
