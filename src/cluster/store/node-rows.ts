/**
 * Rows of the store that belong to the node and not to a group.
 *
 * ```
 * 00 00            identity: u8 format = 3 | 16 bytes cluster_id | 16 bytes store_id | u32 node (little-endian)
 *                  | u8 is learner | u32 CRC (little-endian)
 * 00 01 group(4)   trash: u8 format = 1 | u32 CRC; the rows of this group are being cleared
 * 00 02            joining: u8 format = 1 | 16 bytes store_id | u32 CRC; the store asks to become a node
 * 00 03            before: u8 format = 1 | 16 bytes cluster_id | 16 bytes store_id | u64 time ms (little-endian) | u32 CRC;
 *                  the identity that the store had before its cluster began with it
 * 00 04            removed: the identity row of this node, after other nodes have reported its removal
 * 00 05 group(4)   diverged: u8 format = 1 | u64 replica (little-endian) | u32 node that leads (little-endian) | UTF-8 reason
 *                  | u32 CRC; this replica holds another history than its group
 * ```
 */
import {
  assert,
  ByteWriter,
  crc32,
  FLAG,
  formatUuid,
  type GroupId,
  toGroupId,
  toNodeId,
  toReplicaId,
  uuidBytes,
} from '#base';
import { openRow } from '#database';
import { KeyWriter, type KvReader, type KvRow, prefixEnd, readU32 } from '#kv';
import type { WalIdentity } from '#storage';
import type { Divergence } from '../link.ts';
import type { NodeIdentity } from '../node.ts';

const IDENTITY_FORMAT = 3;
const TRASH_FORMAT = 1;
const JOINING_FORMAT = 1;
const BEFORE_FORMAT = 1;
const DIVERGED_FORMAT = 1;
const UUID_BYTES = 16;
/** Number of rows that are read at a time. */
const SLICE_ROWS = 1_000;
const TRASH_PREFIX = new KeyWriter().u8(0x00).u8(0x01).key();
const DIVERGED_PREFIX = new KeyWriter().u8(0x00).u8(0x05).key();

export const IDENTITY_KEY: Uint8Array = new KeyWriter().u8(0x00).u8(0x00).key();

/** Only until there is an identity. */
export const JOINING_KEY: Uint8Array = new KeyWriter().u8(0x00).u8(0x02).key();

/** Only if the cluster was founded from the store of another one. */
export const BEFORE_KEY: Uint8Array = new KeyWriter().u8(0x00).u8(0x03).key();

/** Only if other nodes have reported its removal. It applies only to the identity that it repeats. */
export const REMOVED_KEY: Uint8Array = new KeyWriter().u8(0x00).u8(0x04).key();

export function writeJoining(storeId: string): Uint8Array {
  return sealed(JOINING_FORMAT, (row) => row.bytes(uuidBytes(storeId)));
}

/** Reads the id of a joining store. Throws when the row is corrupt or of an unknown format. */
export function readJoining(value: Uint8Array): string {
  return formatUuid(openRow(JOINING_KEY, value, JOINING_FORMAT).bytes(UUID_BYTES));
}

export function writeIdentity({ clusterId, storeId, node, isLearner }: NodeIdentity): Uint8Array {
  return sealed(IDENTITY_FORMAT, (row) => {
    row.bytes(uuidBytes(clusterId));
    row.bytes(uuidBytes(storeId));
    row.u32le(node);
    FLAG.write(row, isLearner);
  });
}

/** Throws when the row is corrupt or of an unknown format. */
export function readIdentity(value: Uint8Array): NodeIdentity {
  const row = openRow(IDENTITY_KEY, value, IDENTITY_FORMAT);
  const clusterId = formatUuid(row.bytes(UUID_BYTES));
  const storeId = formatUuid(row.bytes(UUID_BYTES));
  return { clusterId, storeId, node: toNodeId(row.u32le()), isLearner: FLAG.read(row) };
}

/** The cluster and store ids before another cluster was founded from the store. */
export interface ClusterBefore {
  readonly clusterId: string;
  readonly storeId: string;
  /** Time of that decision. */
  readonly atMs: number;
}

export function writeBefore({ clusterId, storeId, atMs }: ClusterBefore): Uint8Array {
  return sealed(BEFORE_FORMAT, (row) => {
    row.bytes(uuidBytes(clusterId));
    row.bytes(uuidBytes(storeId));
    row.u64le(atMs);
  });
}

/** Throws when the row is corrupt or of an unknown format. */
export function readBefore(value: Uint8Array): ClusterBefore {
  const row = openRow(BEFORE_KEY, value, BEFORE_FORMAT);
  const clusterId = formatUuid(row.bytes(UUID_BYTES));
  const storeId = formatUuid(row.bytes(UUID_BYTES));
  return { clusterId, storeId, atMs: row.u64le() };
}

export function trashKey(group: GroupId): Uint8Array {
  return new KeyWriter().bytes(TRASH_PREFIX).u32(group).key();
}

export function writeTrash(): Uint8Array {
  return sealed(TRASH_FORMAT, () => undefined);
}

/** The groups of all trash rows. Throws when one is corrupt or of an unknown format. */
export async function* readTrash(kv: KvReader): AsyncGenerator<GroupId> {
  for await (const { key, value } of rowsBehind(kv, TRASH_PREFIX)) {
    openRow(key, value, TRASH_FORMAT);
    yield toGroupId(readU32(key, TRASH_PREFIX.length));
  }
}

export function divergedKey(group: GroupId): Uint8Array {
  return new KeyWriter().bytes(DIVERGED_PREFIX).u32(group).key();
}

export function writeDiverged({ replica, leader, reason }: Divergence): Uint8Array {
  return sealed(DIVERGED_FORMAT, (row) => {
    row.u64le(replica);
    row.u32le(leader);
    row.utf8(reason);
  });
}

/** All diverged replicas of the node. Throws when a row is corrupt or of an unknown format. */
export async function* readDiverged(kv: KvReader): AsyncGenerator<Divergence> {
  for await (const { key, value } of rowsBehind(kv, DIVERGED_PREFIX)) {
    const row = openRow(key, value, DIVERGED_FORMAT);
    const group = toGroupId(readU32(key, DIVERGED_PREFIX.length));
    const [replica, leader] = [toReplicaId(row.u64le()), toNodeId(row.u32le())];
    yield { group, replica, leader, reason: row.utf8(row.left) };
  }
}

async function* rowsBehind(kv: KvReader, prefix: Uint8Array): AsyncGenerator<KvRow> {
  const lt = prefixEnd(prefix);
  assert(lt !== undefined, 'The rows of a node are not the last of the store');
  const range = kv.range({ gte: prefix, lt });
  try {
    for (let rows = await range.next(SLICE_ROWS); rows.length > 0; rows = await range.next(SLICE_ROWS)) yield* rows;
  } finally {
    await range.close();
  }
}

function sealed(format: number, write: (row: ByteWriter) => void): Uint8Array {
  const row = new ByteWriter();
  row.u8(format);
  write(row);
  row.u32le(crc32(row.view()));
  return row.take();
}

/** Identity to write into the log. */
export function walIdentity({ clusterId, storeId }: Pick<NodeIdentity, 'clusterId' | 'storeId'>): WalIdentity {
  return { clusterId: uuidBytes(clusterId), storeId: uuidBytes(storeId) };
}
