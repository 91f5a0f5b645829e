/**
 * Ids of nodes and of the replicas on them.
 *
 * A replica id contains its node, so the members of a group tell where to send. No table from replicas to nodes has to
 * be stored, replicated and recovered.
 *
 *   replica = node · 2^20 + copy        node: 32 bits, from 1 on        copy: 20 bits, from 0 on
 *
 * `copy` distinguishes successive replicas of a group on one node: an id is assigned once (raft).
 */
import { assert } from './assert.ts';
import type { Brand } from './brand.ts';

/** One node of a cluster, that is one store: never reused. An integer of 32 bits, 1 or more. */
export type NodeId = Brand<number, 'NodeId'>;

/** One replica of one group: never reused. 1 or more. */
export type ReplicaId = Brand<number, 'ReplicaId'>;

/** Maximum number of replicas of a database that vote. */
export const COPIES_MAX = 7;

const NODE_ID_MAX = 2 ** 32 - 1;
const COPIES = 2 ** 20;

export function isNodeId(value: number): value is NodeId {
  return Number.isInteger(value) && value >= 1 && value <= NODE_ID_MAX;
}

export function toNodeId(value: number): NodeId {
  assert(isNodeId(value), 'A node id is an integer from 1 to 2^32 - 1', value);
  return value;
}

export function isReplicaId(value: number): value is ReplicaId {
  return Number.isSafeInteger(value) && value >= 1;
}

export function toReplicaId(value: number): ReplicaId {
  assert(isReplicaId(value), 'A replica id is an integer from 1 to 2^53 - 1', value);
  return value;
}

/** The id of replica number `copy` of a group on the node; 0 is its first. */
export function replicaOf(node: NodeId, copy = 0): ReplicaId {
  assert(isCopy(copy), 'A node holds at most 2^20 copies of a group', copy);
  return toReplicaId(node * COPIES + copy);
}

/** Tells whether the id contains a node. Check ids from outside with it before calling `nodeOf`. */
export function hasNode(replica: ReplicaId): boolean {
  return isNodeId(Math.floor(replica / COPIES));
}

/** Number of the replica on its node. */
export function copyOf(replica: ReplicaId): number {
  return replica % COPIES;
}

export function isCopy(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < COPIES;
}

/** The node of the replica. */
export function nodeOf(replica: ReplicaId): NodeId {
  return toNodeId(Math.floor(replica / COPIES));
}
