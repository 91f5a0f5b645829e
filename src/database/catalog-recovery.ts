/**
 * A recovery in entries and rows of the catalog: which group continues as which instance, and from which node.
 */
import {
  type ByteReader,
  type ByteWriter,
  copyRange,
  type DatabaseId,
  formatUuid,
  type GroupId,
  isDatabaseId,
  isGroupId,
  isNodeId,
  isRevision,
  NO_BYTES,
  type NodeId,
  parseUuid,
  type Revision,
} from '#base';
import { HASH_BYTES } from './applied-state.ts';

const UUID_BYTES = 16;

/** Origin of a recovered instance. */
export interface Recovery {
  /** The instance that had the name before. */
  readonly databaseId: DatabaseId;
  /**
   * The group whose rows on the founder's node it copies: that of the former instance, or the origin of that one if its
   * own recovery is incomplete.
   */
  readonly group: GroupId;
  /** The instance that its history began with: the one before, unless that was recovered, too. */
  readonly rootId: DatabaseId;
  /**
   * Revision of the replica when the recovery was decided. The instance begins here, or later by entries of its log.
   */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** The database of this group continues as another instance, with the replica of this node. */
export interface RecoverEntry {
  readonly kind: 'recover';
  readonly group: GroupId;
  readonly databaseId: DatabaseId;
  readonly node: NodeId;
  /** Revision of the replica when the recovery was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** `varint group | 16 bytes database_id | varint node | varint revision | 32 bytes chain hash`. */
export function writeRecoverEntry(into: ByteWriter, entry: RecoverEntry): void {
  into.varint(entry.group);
  into.bytes(parseUuid(entry.databaseId) ?? NO_BYTES);
  into.varint(entry.node);
  into.varint(entry.revision);
  into.bytes(entry.chainHash);
}

/** Undefined for invalid bytes. */
export function readRecoverEntry(reader: ByteReader): RecoverEntry | undefined {
  const group = reader.varint();
  const databaseId = readId(reader);
  const node = reader.varint();
  const revision = reader.varint();
  const chainHash = copyRange(reader.bytes(HASH_BYTES));
  const isWhole = !reader.failed && reader.left === 0;
  if (!isWhole || !isGroupId(group) || databaseId === undefined || !isNodeId(node) || !isRevision(revision)) {
    return undefined;
  }
  return { kind: 'recover', group, databaseId, node, revision, chainHash };
}

/** `16 bytes database_id | varint group | 16 bytes root_id | varint revision | 32 bytes chain hash`. */
export function writeRecovery(into: ByteWriter, recovery: Recovery): void {
  into.bytes(parseUuid(recovery.databaseId) ?? NO_BYTES);
  into.varint(recovery.group);
  into.bytes(parseUuid(recovery.rootId) ?? NO_BYTES);
  into.varint(recovery.revision);
  into.bytes(recovery.chainHash);
}

/** Undefined for invalid bytes. */
export function readRecovery(reader: ByteReader): Recovery | undefined {
  const databaseId = readId(reader);
  const group = reader.varint();
  const rootId = readId(reader);
  const revision = reader.varint();
  const chainHash = copyRange(reader.bytes(HASH_BYTES));
  const areIds = databaseId !== undefined && rootId !== undefined;
  if (reader.failed || !areIds || !isGroupId(group) || !isRevision(revision)) return undefined;
  return { databaseId, group, rootId, revision, chainHash };
}

function readId(reader: ByteReader): DatabaseId | undefined {
  const bytes = reader.bytes(UUID_BYTES);
  const text = bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
  return isDatabaseId(text) ? text : undefined;
}
