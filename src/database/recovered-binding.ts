/**
 * A database that has lost its quorum continues as another instance, in another group, with the replica of one node.
 *
 * ```
 *   name -> instance A, group 4, on nodes 1 2 3        recover group 4 from node 3 as B
 *   name -> instance B, group 9, on node 3             B's rows are copies of those of group 4 on node 3
 * ```
 * Other replicas of group 4 may elect a leader and commit entries: no client reaches them any more. B continues the
 * history and the hash chain of A. The chain begins with the id of the first instance, the root (D19).
 *
 *   D21  A catalog that begins another cluster names one node that is not removed, and of each database another
 *        instance, in a group that was never used, or none.
 */
import { type DatabaseId, type GroupId, type NodeId, nodeOf, type Revision, replicaOf } from '#base';
import type { RecoverEntry } from './catalog-recovery.ts';
import type { Binding } from './catalog-rows.ts';

/** The instance that continues another one. */
export interface Successor {
  readonly databaseId: DatabaseId;
  /** The node with the replica that it continues, and with the only replica of the new instance at first. */
  readonly node: NodeId;
  /** The group whose rows on that node it copies. */
  readonly origin: GroupId;
  /** Revision of the replica when the recovery was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** The binding that replaces this one, in that group. Undefined when the node has no replica. */
export function recover(before: Binding, entry: RecoverEntry, group: GroupId): Binding | undefined {
  const holds = before.replicas.some((replica) => nodeOf(replica) === entry.node);
  return holds ? successorOf(before, { ...entry, origin: before.group }, group) : undefined;
}

/** The binding of the instance that continues another one, in that group. */
export function successorOf(
  before: Binding,
  { databaseId, node, origin, ...held }: Successor,
  group: GroupId,
): Binding {
  const { name, createdAtMs, copies } = before;
  const { revision, chainHash } = held;
  const replicas = [replicaOf(node)];
  const recovery = { databaseId: before.databaseId, group: origin, rootId: rootOf(before), revision, chainHash };
  const place = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
  return { name, databaseId, group, createdAtMs, copies, ...place, recovery };
}

/** The instance that the history of this one began with: H(0) is made of its id. */
export function rootOf({ databaseId, recovery }: Pick<Binding, 'databaseId' | 'recovery'>): DatabaseId {
  return recovery?.rootId ?? databaseId;
}
