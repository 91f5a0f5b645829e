/**
 * Progress of the state of a group: the same in the applied row of a database and in that of the catalog.
 *
 * ```
 * varint raft index | varint term | varint start of the log
 * varint index of the membership's entry | varint length | membership | varint revision | 32 bytes chain hash
 * ```
 */
import {
  type ByteReader,
  type ByteWriter,
  copyRange,
  isLogIndex,
  isRevision,
  isTerm,
  type LogIndex,
  type Revision,
  type Term,
} from '#base';
import { unexpectedRow } from './corruption.ts';

export const HASH_BYTES = 32;

/** Membership of the Raft group by its last applied entry, as opaque bytes. */
export interface GroupMark {
  /** Log index of that entry; 0 for the first membership of the group. */
  readonly index: LogIndex;
  readonly membership: Uint8Array;
}

export interface AppliedState {
  /** The last log entry that the state includes, and its term. */
  readonly index: LogIndex;
  readonly term: Term;
  /**
   * The index up to which the state came as a snapshot; 0 when all of it came by the log. Earlier entries of the log do
   * not count; the log may still have them.
   */
  readonly logStart: LogIndex;
  readonly group: GroupMark;
  /** A database has the revision of its last transaction; the catalog counts its changes. */
  readonly revision: Revision;
  /** H(revision) of a database (docs/formats/transaction.md); of the catalog over the payloads of what changed it. */
  readonly chainHash: Uint8Array;
}

export function writeAppliedState(into: ByteWriter, { index, term, logStart, ...mark }: AppliedState): void {
  into.varint(index);
  into.varint(term);
  into.varint(logStart);
  writeGroupMark(into, mark.group);
  into.varint(mark.revision);
  into.bytes(mark.chainHash);
}

/** Throws when there is none. */
export function readAppliedState(key: Uint8Array, row: ByteReader): AppliedState {
  const index = row.varint();
  const term = row.varint();
  const logStart = row.varint();
  const group = readGroupMark(key, row);
  const revision = row.varint();
  const chainHash = copyRange(row.bytes(HASH_BYTES));
  if (!isLogIndex(index) || !isTerm(term) || !isLogIndex(logStart) || !isRevision(revision)) throw noAppliedRow(key);
  return { index, term, logStart, group, revision, chainHash };
}

function writeGroupMark(into: ByteWriter, { index, membership }: GroupMark): void {
  into.varint(index);
  into.varint(membership.length);
  into.bytes(membership);
}

function readGroupMark(key: Uint8Array, row: ByteReader): GroupMark {
  const index = row.varint();
  const membership = copyRange(row.bytes(row.varint()));
  if (!isLogIndex(index)) throw noAppliedRow(key);
  return { index, membership };
}

function noAppliedRow(key: Uint8Array): Error {
  return unexpectedRow(key, 'it is not an applied row');
}
