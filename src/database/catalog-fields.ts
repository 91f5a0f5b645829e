/** Fields of entries and rows of the catalog. With `reader.failed` a value is meaningless. */
import {
  COPIES_MAX,
  copyRange,
  type Field,
  fixedBytes,
  type GroupId,
  isGroupId,
  isNodeId,
  isReplicaId,
  listOf,
  type NodeId,
  type ReplicaId,
  VARINT,
  valid,
} from '#base';
import { HASH_BYTES } from './applied-state.ts';

export const GROUP: Field<GroupId> = valid(VARINT, isGroupId);
export const NODE: Field<NodeId> = valid(VARINT, isNodeId);
export const REPLICAS: Field<readonly ReplicaId[]> = listOf(valid(VARINT, isReplicaId));
/** Replicas that a database asks for. 0: as many as the setting of the cluster. */
export const COPIES: Field<number> = valid(VARINT, (copies) => copies <= COPIES_MAX);
export const HASH: Field<Uint8Array> = {
  ...fixedBytes(HASH_BYTES),
  read: (reader) => copyRange(reader.bytes(HASH_BYTES)),
};
