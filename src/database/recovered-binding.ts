/**
 * A database that has lost its quorum goes on as another instance, in another group, with what one node holds of it.
 *
 * ```
 *   name -> instance A, group 4, on nodes 1 2 3        recover group 4 from node 3 as B
 *   name -> instance B, group 9, on node 3             B's rows are made of those that node 3 has of group 4
 * ```
 * What is left of group 4 elsewhere may elect a leader and commit what it wants: nobody asks it any more. The history
 * is that of A, and so is its chain of hashes: it begins with the id of the first instance of all, the root (D19).
 *
 *   D21  A catalog that begins another cluster names one node that is not removed, and of each database another
 *        instance, in a group that was never used, or none.
 */
import { type DatabaseId, type GroupId, type NodeId, nodeOf, type Revision, replicaOf } from '#base';
import type { RecoverEntry } from './catalog-recovery.ts';
import type { Binding } from './catalog-rows.ts';

/** What an instance goes on as. */
export interface Successor {
  readonly databaseId: DatabaseId;
  /** Who holds the copy that it goes on with, and alone holds the new instance at first. */
  readonly node: NodeId;
  /** Whose rows on that node it is made of. */
  readonly origin: GroupId;
  /** What the copy held when it was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** The binding that takes the place of this one, in that group. Undefined when the node holds no copy. */
export function recover(before: Binding, entry: RecoverEntry, group: GroupId): Binding | undefined {
  const holds = before.replicas.some((replica) => nodeOf(replica) === entry.node);
  return holds ? successorOf(before, { ...entry, origin: before.group }, group) : undefined;
}

/** The binding of an instance that goes on as another one, in that group. */
export function successorOf(
  before: Binding,
  { databaseId, node, origin, ...held }: Successor,
  group: GroupId,
): Binding {
  const { name, createdAtMs } = before;
  const { revision, chainHash } = held;
  const replicas = [replicaOf(node)];
  const recovery = { databaseId: before.databaseId, group: origin, rootId: rootOf(before), revision, chainHash };
  const place = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
  return { name, databaseId, group, createdAtMs, ...place, recovery };
}

/** The instance that the history of this one began with: H(0) is made of its id. */
export function rootOf({ databaseId, recovery }: Pick<Binding, 'databaseId' | 'recovery'>): DatabaseId {
  return recovery?.rootId ?? databaseId;
}
