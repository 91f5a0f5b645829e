/** Fields of entries and rows of the catalog. With `reader.failed` a value is meaningless. */
import {
  copyRange,
  type DatabaseId,
  type Field,
  fixedBytes,
  formatUuid,
  type GroupId,
  isDatabaseId,
  isGroupId,
  isNodeId,
  isReplicaId,
  isRevision,
  listOf,
  mapped,
  NO_BYTES,
  type NodeId,
  parseUuid,
  type ReplicaId,
  type Revision,
  VARINT,
  valid,
} from '#base';
import { HASH_BYTES } from './applied-state.ts';

const UUID_BYTES = 16;

/** A UUID in lowercase canonical form. */
export const UUID: Field<string> = mapped(
  fixedBytes(UUID_BYTES),
  (id) => parseUuid(id) ?? NO_BYTES,
  (bytes) => (bytes.length === UUID_BYTES ? formatUuid(bytes) : undefined),
);
export const DATABASE_ID: Field<DatabaseId> = valid(UUID, isDatabaseId);
export const GROUP: Field<GroupId> = valid(VARINT, isGroupId);
export const NODE: Field<NodeId> = valid(VARINT, isNodeId);
export const REVISION: Field<Revision> = valid(VARINT, isRevision);
export const REPLICAS: Field<readonly ReplicaId[]> = listOf(valid(VARINT, isReplicaId));
export const HASH: Field<Uint8Array> = {
  ...fixedBytes(HASH_BYTES),
  read: (reader) => copyRange(reader.bytes(HASH_BYTES)),
};
