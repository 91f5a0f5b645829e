/**
 * The applied row: how far a database is, written in the same batch as everything it counts (D3).
 *
 * ```
 * u8 format = 9 | 16 bytes database_id | u8 is recovered | [16 bytes root_id] | varint created_at ms
 * applied state (applied-state.ts) | varint latest recorded time ms | varint total events
 * varint end of the history | varint start of its last segment
 * varint next stream id | varint next type id | varint next source id
 * varint number of definitions | u8 has control records | [varint position of the last one | 32 bytes its hash]
 * u32 CRC
 * ```
 */
import { type ByteReader, type ByteWriter, copyRange, DATABASE_ID, type DatabaseId } from '#base';
import { type AppliedState, HASH_BYTES, readAppliedState, writeAppliedState } from './applied-state.ts';
import { closeRow, openRow, unexpectedRow } from './corruption.ts';

const FORMAT = 9;

/** A control record, and the hash that proves it and those before. */
export interface ControlMark {
  readonly position: number;
  readonly hash: Uint8Array;
}

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
  /** Bytes of the history: the position after its last record. */
  readonly end: number;
  /** Position of the first record in the last segment of the history. */
  readonly segmentStart: number;
  /** The ids that the next new stream, event type and source get. */
  readonly nextStreamId: number;
  readonly nextTypeId: number;
  readonly nextSourceId: number;
  /** Number of its records that define something. */
  readonly definitions: number;
  /** The last control record; undefined when there is none. */
  readonly control: ControlMark | undefined;
}

export function writeApplied(into: ByteWriter, applied: Applied): void {
  const { definitions, control } = applied;
  into.u8(FORMAT);
  DATABASE_ID.write(into, applied.databaseId);
  const isRecovered = applied.rootId !== applied.databaseId;
  into.u8(isRecovered ? 1 : 0);
  if (isRecovered) DATABASE_ID.write(into, applied.rootId);
  into.varint(applied.createdAtMs);
  writeAppliedState(into, applied);
  into.varint(applied.recordedTimeMs);
  into.varint(applied.totalEvents);
  into.varint(applied.end);
  into.varint(applied.segmentStart);
  into.varint(applied.nextStreamId);
  into.varint(applied.nextTypeId);
  into.varint(applied.nextSourceId);
  into.varint(definitions);
  into.u8(control === undefined ? 0 : 1);
  if (control !== undefined) writeControlMark(into, control);
}

/** Throws when the row is corrupt. */
export function readAppliedRow(key: Uint8Array, value: Uint8Array): Applied {
  const [format = FORMAT] = value;
  const row = openRow(key, value, Math.min(format, FORMAT));
  if (format < FORMAT) throw older(key, format);
  const databaseId = DATABASE_ID.read(row);
  const rootId = row.u8() === 1 ? DATABASE_ID.read(row) : databaseId;
  const createdAtMs = row.varint();
  const state = readAppliedState(key, row);
  const rest = {
    recordedTimeMs: row.varint(),
    totalEvents: row.varint(),
    end: row.varint(),
    segmentStart: row.varint(),
    nextStreamId: row.varint(),
    nextTypeId: row.varint(),
    nextSourceId: row.varint(),
    definitions: row.varint(),
    control: row.u8() === 1 ? readControlMark(row) : undefined,
  };
  closeRow(key, row);
  return { databaseId, rootId, createdAtMs, ...state, ...rest };
}

export function writeControlMark(into: ByteWriter, { position, hash }: ControlMark): void {
  into.varint(position);
  into.bytes(hash);
}

export function readControlMark(row: ByteReader): ControlMark {
  return { position: row.varint(), hash: copyRange(row.bytes(HASH_BYTES)) };
}

function older(key: Uint8Array, format: number): Error {
  const fault = `its format is ${format}, of an earlier release; this release reads format ${FORMAT}`;
  return unexpectedRow(key, `${fault} and migrates none: start with an empty data directory, or use that release`);
}
