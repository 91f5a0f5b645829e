/**
 * The applied row: how far a database is, written in the same batch as everything it counts (D3).
 *
 * ```
 * u8 format = 4 | 16 bytes database_id | u8 is recovered | [16 bytes root_id] | varint created_at ms
 * varint raft index | varint term | varint start of the log
 * varint index of the membership's entry | varint length | membership
 * varint revision | 32 bytes chain hash | varint latest recorded time ms | varint total events
 * varint next stream id | varint next type id | varint next source id
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
  isRevision,
  isTerm,
  type LogIndex,
  parseUuid,
  type Revision,
  type Term,
} from '#base';
import { copyRange } from './bytes-range.ts';
import { closeRow, corruptRecord, openRow, sealRow } from './corruption.ts';

const FORMAT = 4;
export const HASH_BYTES = 32;
const UUID_BYTES = 16;

/** Who belongs to the Raft group, as of the last applied entry that said so. What the bytes mean is not known here. */
export interface GroupMark {
  /** Where that entry stands; 0 for the membership that the group began with. */
  readonly index: LogIndex;
  readonly membership: Uint8Array;
}

export interface Applied {
  readonly databaseId: DatabaseId;
  /** The instance that the history began with, and the chain of hashes with its id: its own, unless it was recovered (D19). */
  readonly rootId: DatabaseId;
  readonly createdAtMs: number;
  /** The last log entry that the state includes, and its term. */
  readonly index: LogIndex;
  readonly term: Term;
  /**
   * The index up to which the state came as a snapshot; 0 when all of it came by the log. What the log held before that
   * does not count; it may not know yet.
   */
  readonly logStart: LogIndex;
  readonly group: GroupMark;
  readonly revision: Revision;
  /** H(revision); see docs/formats/pages.md. */
  readonly chainHash: Uint8Array;
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
  into.varint(applied.index);
  into.varint(applied.term);
  into.varint(applied.logStart);
  writeGroupMark(into, applied.group);
  into.varint(applied.revision);
  into.bytes(applied.chainHash);
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
  const index = row.varint();
  const term = row.varint();
  const logStart = row.varint();
  const group = readGroupMark(key, row);
  const revision = row.varint();
  const chainHash = copyRange(row.bytes(HASH_BYTES));
  const rest = {
    recordedTimeMs: row.varint(),
    totalEvents: row.varint(),
    nextStreamId: row.varint(),
    nextTypeId: row.varint(),
    nextSourceId: row.varint(),
  };
  closeRow(key, row);
  const isPlace = isLogIndex(index) && isTerm(term) && isLogIndex(logStart);
  if (!isDatabaseId(databaseId) || !isDatabaseId(rootId) || !isPlace || !isRevision(revision)) {
    throw corruptRecord(key, 'it is not an applied row');
  }
  return { databaseId, rootId, createdAtMs, index, term, logStart, group, revision, chainHash, ...rest };
}

export function writeGroupMark(into: ByteWriter, { index, membership }: GroupMark): void {
  into.varint(index);
  into.varint(membership.length);
  into.bytes(membership);
}

/** Throws when there is none. */
export function readGroupMark(key: Uint8Array, row: ByteReader): GroupMark {
  const index = row.varint();
  const membership = copyRange(row.bytes(row.varint()));
  if (!isLogIndex(index)) throw corruptRecord(key, 'it is not an applied row');
  return { index, membership };
}

function writeId(into: ByteWriter, id: DatabaseId): void {
  into.bytes(parseUuid(id) ?? new Uint8Array(UUID_BYTES));
}

/** Empty when the row ends before. */
function readId(row: ByteReader): string {
  const bytes = row.bytes(UUID_BYTES);
  return bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
}
