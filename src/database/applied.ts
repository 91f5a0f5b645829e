/**
 * The applied row: how far a database is, written in the same batch as everything it counts (D3).
 *
 * ```
 * u8 format = 4 | 16 bytes database_id | u8 is recovered | [16 bytes root_id] | varint created_at ms
 * applied state (applied-state.ts) | varint latest recorded time ms | varint total events
 * varint next stream id | varint next type id | varint next source id
 * u32 CRC
 * ```
 */
import { type ByteReader, type ByteWriter, type DatabaseId, formatUuid, isDatabaseId, parseUuid } from '#base';
import { type AppliedState, noAppliedRow, readAppliedState, writeAppliedState } from './applied-state.ts';
import { closeRow, openRow, sealRow } from './corruption.ts';

const FORMAT = 4;
const UUID_BYTES = 16;

export interface Applied extends AppliedState {
  readonly databaseId: DatabaseId;
  /**
   * The instance that the history began with, and the chain of hashes with its id: its own, unless it was recovered
   * (D19).
   */
  readonly rootId: DatabaseId;
  readonly createdAtMs: number;
  /** Recorded time of the latest transaction; at revision 0 the time of creation. */
  readonly recordedTimeMs: number;
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
  /** The ids that the next new stream, event type and source get. */
  readonly nextStreamId: number;
  readonly nextTypeId: number;
  readonly nextSourceId: number;
}

export function writeApplied(into: ByteWriter, applied: Applied): void {
  into.u8(FORMAT);
  writeId(into, applied.databaseId);
  const isRecovered = applied.rootId !== applied.databaseId;
  into.u8(isRecovered ? 1 : 0);
  if (isRecovered) writeId(into, applied.rootId);
  into.varint(applied.createdAtMs);
  writeAppliedState(into, applied);
  into.varint(applied.recordedTimeMs);
  into.varint(applied.totalEvents);
  into.varint(applied.nextStreamId);
  into.varint(applied.nextTypeId);
  into.varint(applied.nextSourceId);
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readAppliedRow(key: Uint8Array, value: Uint8Array): Applied {
  const row = openRow(key, value, FORMAT);
  const databaseId = readId(row);
  const rootId = row.u8() === 1 ? readId(row) : databaseId;
  const createdAtMs = row.varint();
  const state = readAppliedState(key, row);
  const rest = {
    recordedTimeMs: row.varint(),
    totalEvents: row.varint(),
    nextStreamId: row.varint(),
    nextTypeId: row.varint(),
    nextSourceId: row.varint(),
  };
  closeRow(key, row);
  if (!isDatabaseId(databaseId) || !isDatabaseId(rootId)) throw noAppliedRow(key);
  return { databaseId, rootId, createdAtMs, ...state, ...rest };
}

function writeId(into: ByteWriter, id: DatabaseId): void {
  into.bytes(parseUuid(id) ?? new Uint8Array(UUID_BYTES));
}

/** Empty when the row ends before. */
function readId(row: ByteReader): string {
  const bytes = row.bytes(UUID_BYTES);
  return bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
}
