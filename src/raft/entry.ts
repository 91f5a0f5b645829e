/**
 * Log entries, their ids, and snapshots.
 */
import { type LogIndex, type Term, toLogIndex, toTerm } from '#base';
import type { Membership } from './membership.ts';

/** Identifies an entry: the same id in two logs means that the logs are equal up to it (R3). */
export interface EntryId {
  readonly index: LogIndex;
  readonly term: Term;
}

/** A log entry. Empty payloads are the group's own: the no-op of a leader, or a membership. */
export interface Entry extends EntryId {
  /** Opaque to Raft, and never copied. */
  readonly payload: Uint8Array;
  /** The membership once this entry is committed. Only in an entry without payload. */
  readonly membership?: Membership;
}

/** The state after `last`, and the membership then. */
export interface Snapshot {
  readonly last: EntryId;
  readonly membership: Membership;
}

/** The position before the first entry of a log. */
export const ORIGIN: EntryId = { index: toLogIndex(0), term: toTerm(0) };

/** Bytes of the payloads of these entries. */
export function payloadBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.payload.length;
  return bytes;
}

// Estimated memory of an entry beside its payload.
const ENTRY_BYTES = 64;

/** Bytes that these entries take in memory. */
export function memoryBytes(entries: readonly Entry[]): number {
  return payloadBytes(entries) + entries.length * ENTRY_BYTES;
}

/**
 * The up-to-date comparison of the Raft paper: a valid log that ends with `last` has all committed entries of `other`.
 */
export function isNotBehind(last: EntryId, other: EntryId): boolean {
  return last.term > other.term || (last.term === other.term && last.index >= other.index);
}
