/**
 * One place in the log, its id, and what a snapshot stands for.
 */
import { type LogIndex, type Term, toLogIndex, toTerm } from '#base';
import type { Membership } from './membership.ts';

/** Which entry stands where: the same id in two logs means the same log up to there (R3). */
export interface EntryId {
  readonly index: LogIndex;
  readonly term: Term;
}

/** One place in the log. An empty payload is the group's own: the no-op of a leader, or a membership. */
export interface Entry extends EntryId {
  /** Opaque to Raft, and never copied by it. */
  readonly payload: Uint8Array;
  /** Who belongs to the group once this entry is committed. Only in an entry without payload. */
  readonly membership?: Membership;
}

/** The state after `last`, and who belonged to the group then. */
export interface Snapshot {
  readonly last: EntryId;
  readonly membership: Membership;
}

/** Before the first entry of a log. */
export const ORIGIN: EntryId = { index: toLogIndex(0), term: toTerm(0) };

/** Bytes of the payloads of these entries. */
export function payloadBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.payload.length;
  return bytes;
}

// What an entry costs in memory beside its payload, roughly.
const ENTRY_BYTES = 64;

/** Bytes that these entries take in memory. */
export function memoryBytes(entries: readonly Entry[]): number {
  return payloadBytes(entries) + entries.length * ENTRY_BYTES;
}

/** Whether a log that ends with the first has everything that one that ends with the other has, if both are right. */
export function isNotBehind(last: EntryId, other: EntryId): boolean {
  return last.term > other.term || (last.term === other.term && last.index >= other.index);
}
