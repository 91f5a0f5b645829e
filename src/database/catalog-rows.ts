/**
 * The rows of the catalog, group 0. They can all be read by synchronous gets: bindings are in blocks of 64 groups, and
 * the applied row has the number of groups that were ever created. The nodes are in one row (catalog-nodes.ts).
 *
 * ```
 * applied row     u8 format = 3 | applied state (applied-state.ts) | varint next group | u32 CRC
 * bindings row    u8 format = 5 | varint count, each binding | u32 CRC
 * binding         varint group | 16 bytes database_id | varint created_at ms | replicas | varint placement
 *                 | [replicas that are leaving | replicas that founded its group | u8 is settled]
 *                 | u8 is recovered | [recovery (catalog-recovery.ts)] | varint length | name
 *                   the first brackets: only if placement > 0; until then none is leaving, all are founders, and it is
 *                   settled; the second: only if it is recovered
 * replicas        varint count, each varint replica
 * ```
 */
import {
  type ByteReader,
  type ByteWriter,
  type DatabaseId,
  encodeUtf8,
  formatUuid,
  type GroupId,
  isDatabaseId,
  isGroupId,
  NO_BYTES,
  parseUuid,
  type ReplicaId,
} from '#base';
import { type AppliedState, readAppliedState, writeAppliedState } from './applied-state.ts';
import { readReplicas, writeReplicas } from './catalog-entry.ts';
import { type Recovery, readRecovery, writeRecovery } from './catalog-recovery.ts';
import { closeRow, openRow, sealRow, unexpectedRow } from './corruption.ts';

const APPLIED_FORMAT = 3;
const BINDINGS_FORMAT = 5;
const UUID_BYTES = 16;
/** Groups of one bindings row. */
export const BLOCK_GROUPS = 64;

/** Which database a name means, and which group holds it. An instance keeps its id and its group for life. */
export interface Binding {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly group: GroupId;
  readonly createdAtMs: number;
  /** Its replicas, with their nodes. */
  readonly replicas: readonly ReplicaId[];
  /** The replicas to remove once their group works without them (catalog-placements.ts). */
  readonly leaving: readonly ReplicaId[];
  /** The first voters of its group, with which every new replica begins. */
  readonly founders: readonly ReplicaId[];
  /** Number of placements so far. */
  readonly placement: number;
  /** True when its group has reported the membership of the placement. */
  readonly isSettled: boolean;
  /** Only of an instance that was recovered from another one. */
  readonly recovery?: Recovery;
}

export interface CatalogApplied extends AppliedState {
  /** The group of the next database. Groups are never used again. */
  readonly nextGroup: GroupId;
}

export function blockOfGroup(group: number): number {
  return Math.floor(group / BLOCK_GROUPS);
}

export function writeCatalogApplied(into: ByteWriter, applied: CatalogApplied): void {
  into.u8(APPLIED_FORMAT);
  writeAppliedState(into, applied);
  into.varint(applied.nextGroup);
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readCatalogApplied(key: Uint8Array, value: Uint8Array): CatalogApplied {
  const row = openRow(key, value, APPLIED_FORMAT);
  const state = readAppliedState(key, row);
  const nextGroup = row.varint();
  closeRow(key, row);
  if (!isGroupId(nextGroup)) throw unexpectedRow(key, `${nextGroup} is no group`);
  return { ...state, nextGroup };
}

export function writeBindings(into: ByteWriter, bindings: readonly Binding[]): void {
  into.u8(BINDINGS_FORMAT);
  into.varint(bindings.length);
  for (const { group, databaseId, createdAtMs, name, ...held } of bindings) {
    into.varint(group);
    into.bytes(parseUuid(databaseId) ?? NO_BYTES);
    into.varint(createdAtMs);
    writeReplicas(into, held.replicas);
    into.varint(held.placement);
    if (held.placement > 0) {
      writeReplicas(into, held.leaving);
      writeReplicas(into, held.founders);
      into.u8(held.isSettled ? 1 : 0);
    }
    into.u8(held.recovery === undefined ? 0 : 1);
    if (held.recovery !== undefined) writeRecovery(into, held.recovery);
    const text = encodeUtf8(name);
    into.varint(text.length);
    into.bytes(text);
  }
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readBindings(key: Uint8Array, value: Uint8Array): readonly Binding[] {
  const row = openRow(key, value, BINDINGS_FORMAT);
  const count = row.varint();
  const bindings: Binding[] = [];
  while (bindings.length < count && !row.failed) bindings.push(readBinding(key, row));
  closeRow(key, row);
  return bindings;
}

function readBinding(key: Uint8Array, row: ByteReader): Binding {
  const group = row.varint();
  const id = row.bytes(UUID_BYTES);
  const databaseId = id.length === UUID_BYTES ? formatUuid(id) : '';
  const createdAtMs = row.varint();
  const replicas = readReplicas(row);
  const placement = row.varint();
  const leaving = placement > 0 ? readReplicas(row) : [];
  const founders = placement > 0 ? readReplicas(row) : replicas;
  const isSettled = placement === 0 || row.u8() === 1;
  const isRecovered = row.u8() === 1;
  const recovery = isRecovered ? readRecovery(row) : undefined;
  const name = row.utf8(row.varint());
  if (isRecovered && recovery === undefined) throw unexpectedRow(key, 'it does not hold bindings');
  if (!isGroupId(group) || !isDatabaseId(databaseId)) throw unexpectedRow(key, 'it does not hold bindings');
  const held = { replicas, leaving, founders, placement, isSettled };
  return { name, databaseId, group, createdAtMs, ...held, ...(recovery && { recovery }) };
}
