/**
 * The rows of the catalog, group 0. They can all be read by synchronous gets: bindings are in blocks of 64 groups, and
 * the applied row has the number of groups that were ever created. The nodes are in one row (catalog-nodes.ts).
 *
 * ```
 * applied row     u8 format = 3 | applied state (applied-state.ts) | varint next group | u32 CRC
 * bindings row    u8 format = 6 | varint count, each binding | u32 CRC
 * binding         varint group | 16 bytes database_id | varint created_at ms | varint copies | replicas
 *                 | varint placement
 *                 | [replicas that are leaving | replicas that founded its group | u8 is settled]
 *                 | u8 is recovered | [recovery (catalog-recovery.ts)] | varint length | name
 *                   the first brackets: only if placement > 0; until then none is leaving, all are founders, and it is
 *                   settled; the second: only if it is recovered
 * replicas        varint count, each varint replica
 * ```
 */
import {
  type ByteWriter,
  DATABASE_ID,
  type DatabaseId,
  type DependentField,
  type Field,
  FLAG,
  fieldsOf,
  type GroupId,
  isGroupId,
  listOf,
  optional,
  type ReplicaId,
  TEXT,
  VARINT,
} from '#base';
import { type AppliedState, readAppliedState, writeAppliedState } from './applied-state.ts';
import { COPIES, GROUP, REPLICAS } from './catalog-fields.ts';
import { RECOVERY, type Recovery } from './catalog-recovery.ts';
import { closeRow, openRow, sealRow, unexpectedRow } from './corruption.ts';

const APPLIED_FORMAT = 3;
const BINDINGS_FORMAT = 6;
/** Groups of one bindings row. */
export const BLOCK_GROUPS = 64;

/** Which database a name means, and which group holds it. An instance keeps its id and its group for life. */
export interface Binding {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly group: GroupId;
  readonly createdAtMs: number;
  /** Replicas that it asks for; 0: as many as the setting of the cluster. */
  readonly copies: number;
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
  readonly recovery?: Recovery | undefined;
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

const BINDINGS = listOf(
  fieldsOf<Binding>({
    group: GROUP,
    databaseId: DATABASE_ID,
    createdAtMs: VARINT,
    copies: COPIES,
    replicas: REPLICAS,
    placement: VARINT,
    leaving: oncePlaced(REPLICAS, () => []),
    founders: oncePlaced(REPLICAS, ({ replicas }) => replicas),
    isSettled: oncePlaced(FLAG, () => true),
    recovery: optional(RECOVERY),
    name: TEXT,
  }),
);

/** A field that only a database has that was placed since its creation. */
function oncePlaced<Value>(field: Field<Value>, initial: (before: Binding) => Value): DependentField<Value, Binding> {
  return {
    write: (writer, value, { placement }) => {
      if (placement > 0) field.write(writer, value);
    },
    read: (reader, before) => (before.placement > 0 ? field.read(reader) : initial(before)),
  };
}

export function writeBindings(into: ByteWriter, bindings: readonly Binding[]): void {
  into.u8(BINDINGS_FORMAT);
  BINDINGS.write(into, bindings);
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readBindings(key: Uint8Array, value: Uint8Array): readonly Binding[] {
  const row = openRow(key, value, BINDINGS_FORMAT);
  const bindings = BINDINGS.read(row);
  closeRow(key, row);
  return bindings;
}
