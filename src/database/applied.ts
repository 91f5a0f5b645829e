/**
 * The applied row: how far a database is, written in the same batch as everything it counts (D3).
 *
 * ```
 * u8 format = 7 | 16 bytes database_id | u8 is recovered | [16 bytes root_id] | varint created_at ms
 * applied state (applied-state.ts) | varint latest recorded time ms | varint total events
 * varint end of the history | varint start of its last segment
 * varint next stream id | varint next type id | varint next source id
 * u8 has definitions | [varint log index of the last record of one | 32 bytes chain hash of definitions]
 * varint number of the last kept refusal | [varint its log index]
 * u32 CRC
 * ```
 */
import {
  type ByteReader,
  type ByteWriter,
  type DatabaseId,
  formatUuid,
  isDatabaseId,
  isLogIndex,
  type LogIndex,
  NO_BYTES,
  parseUuid,
  toLogIndex,
} from '#base';
import { type AppliedState, HASH_BYTES, noAppliedRow, readAppliedState, writeAppliedState } from './applied-state.ts';
import { copyRange } from './bytes-range.ts';
import { closeRow, openRow, sealRow, unexpectedRow } from './corruption.ts';

const FORMAT = 7;
const UUID_BYTES = 16;

/** How far the definitions of a database are: the last record, and the chain hash that it leads to (D22). */
export interface DefinitionMark {
  /** 0: nothing was ever defined. */
  readonly index: LogIndex;
  readonly chainHash: Uint8Array;
}

export const NO_DEFINITIONS: DefinitionMark = Object.freeze({ index: toLogIndex(0), chainHash: NO_BYTES });

/** How many refusals were ever kept here, and where in the log the last of them is (D25). */
export interface RefusalMark {
  /** 0: none. Counted on this replica: one that took the state over may have begun later. */
  readonly number: number;
  readonly index: LogIndex;
}

export const NO_REFUSALS: RefusalMark = Object.freeze({ number: 0, index: toLogIndex(0) });

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
  /** Bytes of the history: the position behind the record of `revision`. */
  readonly end: number;
  /** Position of the first record in the last segment of the history. */
  readonly segmentStart: number;
  /** The ids that the next new stream, event type and source get. */
  readonly nextStreamId: number;
  readonly nextTypeId: number;
  readonly nextSourceId: number;
  readonly definitions: DefinitionMark;
  readonly refusals: RefusalMark;
}

export function writeApplied(into: ByteWriter, applied: Applied): void {
  const { definitions, refusals } = applied;
  into.u8(FORMAT);
  writeId(into, applied.databaseId);
  const isRecovered = applied.rootId !== applied.databaseId;
  into.u8(isRecovered ? 1 : 0);
  if (isRecovered) writeId(into, applied.rootId);
  into.varint(applied.createdAtMs);
  writeAppliedState(into, applied);
  into.varint(applied.recordedTimeMs);
  into.varint(applied.totalEvents);
  into.varint(applied.end);
  into.varint(applied.segmentStart);
  into.varint(applied.nextStreamId);
  into.varint(applied.nextTypeId);
  into.varint(applied.nextSourceId);
  into.u8(definitions.index > 0 ? 1 : 0);
  if (definitions.index > 0) writeDefinitionMark(into, definitions);
  into.varint(refusals.number);
  if (refusals.number > 0) into.varint(refusals.index);
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readAppliedRow(key: Uint8Array, value: Uint8Array): Applied {
  const [format = FORMAT] = value;
  const row = openRow(key, value, Math.min(format, FORMAT));
  if (format < FORMAT) throw older(key, format);
  const databaseId = readId(row);
  const rootId = row.u8() === 1 ? readId(row) : databaseId;
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
  };
  const definitions = row.u8() === 1 ? readDefinitionMark(row) : NO_DEFINITIONS;
  const refusals = readRefusalMark(row);
  closeRow(key, row);
  const isWhole = isDatabaseId(databaseId) && isDatabaseId(rootId);
  if (!isWhole || definitions === undefined || refusals === undefined) throw noAppliedRow(key);
  return { databaseId, rootId, createdAtMs, ...state, ...rest, definitions, refusals };
}

export function writeDefinitionMark(into: ByteWriter, { index, chainHash }: DefinitionMark): void {
  into.varint(index);
  into.bytes(chainHash);
}

/** Undefined for bytes that are none. */
export function readDefinitionMark(row: ByteReader): DefinitionMark | undefined {
  const index = row.varint();
  const chainHash = copyRange(row.bytes(HASH_BYTES));
  return isLogIndex(index) && index > 0 && chainHash.length === HASH_BYTES ? { index, chainHash } : undefined;
}

function readRefusalMark(row: ByteReader): RefusalMark | undefined {
  const number = row.varint();
  if (number === 0) return NO_REFUSALS;
  const index = row.varint();
  return isLogIndex(index) && index > 0 ? { number, index } : undefined;
}

/** Before format 7 events were in rows. */
function older(key: Uint8Array, format: number): Error {
  const fault = `its format is ${format}, of a release that kept events in pages; this release reads format ${FORMAT}`;
  return unexpectedRow(key, `${fault} and migrates none: start with an empty data directory, or use that release`);
}

function writeId(into: ByteWriter, id: DatabaseId): void {
  into.bytes(parseUuid(id) ?? new Uint8Array(UUID_BYTES));
}

/** Empty when the row ends before. */
function readId(row: ByteReader): string {
  const bytes = row.bytes(UUID_BYTES);
  return bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
}
