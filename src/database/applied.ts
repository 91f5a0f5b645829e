/**
 * The applied row: how far a database is, written in the same batch as everything it counts (D3).
 *
 * ```
 * u8 format = 4, 5 or 6 | 16 bytes database_id | u8 is recovered | [16 bytes root_id] | varint created_at ms
 * applied state (applied-state.ts) | varint latest recorded time ms | varint total events
 * varint next stream id | varint next type id | varint next source id
 * format 5: varint log index of the last record of a definition | 32 bytes chain hash of definitions
 * format 6: u8 1 and the same, or u8 0 | varint number of the last kept refusal | varint its log index
 * u32 CRC
 * ```
 * Format 5 is of feature level 2: it is written from the first definition on, and never before (ADR 0047);
 * format 6 of feature level 4, from the first kept refusal on (ADR 0142).
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
import { closeRow, openRow, sealRow } from './corruption.ts';

const FORMAT = 4;
const FORMAT_WITH_DEFINITIONS = 5;
const FORMAT_WITH_REFUSALS = 6;
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
  /** The ids that the next new stream, event type and source get. */
  readonly nextStreamId: number;
  readonly nextTypeId: number;
  readonly nextSourceId: number;
  readonly definitions: DefinitionMark;
  readonly refusals: RefusalMark;
}

export function writeApplied(into: ByteWriter, applied: Applied): void {
  const { definitions, refusals } = applied;
  const hasDefinitions = definitions.index > 0;
  const hasRefusals = refusals.number > 0;
  const least = hasDefinitions ? FORMAT_WITH_DEFINITIONS : FORMAT;
  into.u8(hasRefusals ? FORMAT_WITH_REFUSALS : least);
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
  if (hasRefusals) into.u8(hasDefinitions ? 1 : 0);
  if (hasDefinitions) writeDefinitionMark(into, definitions);
  if (hasRefusals) {
    into.varint(refusals.number);
    into.varint(refusals.index);
  }
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readAppliedRow(key: Uint8Array, value: Uint8Array): Applied {
  const [format] = value;
  const hasRefusals = format === FORMAT_WITH_REFUSALS;
  const isLater = hasRefusals || format === FORMAT_WITH_DEFINITIONS;
  const row = openRow(key, value, isLater ? format : FORMAT);
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
  const hasDefinitions = hasRefusals ? row.u8() === 1 : isLater;
  const definitions = hasDefinitions ? readDefinitionMark(row) : NO_DEFINITIONS;
  const refusals = hasRefusals ? readRefusalMark(row) : NO_REFUSALS;
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
  const [number, index] = [row.varint(), row.varint()];
  return number > 0 && isLogIndex(index) && index > 0 ? { number, index } : undefined;
}

function writeId(into: ByteWriter, id: DatabaseId): void {
  into.bytes(parseUuid(id) ?? new Uint8Array(UUID_BYTES));
}

/** Empty when the row ends before. */
function readId(row: ByteReader): string {
  const bytes = row.bytes(UUID_BYTES);
  return bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
}
