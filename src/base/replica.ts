/**
 * Who holds a copy of a group: nodes, and the replicas on them.
 *
 * A replica's id tells its node, so that whoever knows who belongs to a group knows where to send, and no table of one
 * to the other has to be kept, replicated and found again after a crash.
 *
 *   replica = node · 2^20 + copy        node: 32 bits, from 1 on        copy: 20 bits, from 0 on
 *
 * `copy` tells the copies of one group apart that a node has held one after the other: an id is given once (raft).
 */
import { assert } from './assert.ts';
import type { Brand } from './brand.ts';

/** One node of a cluster, that is one store: given once, never again. An integer of 32 bits, 1 or more. */
export type NodeId = Brand<number, 'NodeId'>;

/** One copy of one group: given once, never to another copy, never again. 1 or more. */
export type ReplicaId = Brand<number, 'ReplicaId'>;

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

/** The id of the copy number `copy` that the node holds of a group; 0 is its first. */
export function replicaOf(node: NodeId, copy = 0): ReplicaId {
  assert(isCopy(copy), 'A node holds at most 2^20 copies of a group', copy);
  return toReplicaId(node * COPIES + copy);
}

/** Whether the id tells a node: whoever did not make it himself asks before `nodeOf`. */
export function hasNode(replica: ReplicaId): boolean {
  return isNodeId(Math.floor(replica / COPIES));
}

/** Which copy of the group it is on its node. */
export function copyOf(replica: ReplicaId): number {
  return replica % COPIES;
}

export function isCopy(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < COPIES;
}

/** The node that holds the replica. */
export function nodeOf(replica: ReplicaId): NodeId {
  return toNodeId(Math.floor(replica / COPIES));
}
