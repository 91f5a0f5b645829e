/**
 * The interface for transferring the state of a group between replicas: in parts, each of which ends at an index of the
 * log. The state machines define the content of the parts.
 *
 *   standing ──> StateExport ── parts ──> StateImport ── checked parts ──> install
 */
import { assert, type LogIndex } from '#base';
import { decodeMembership, type EntryId, type Membership } from '#raft';
import type { Checkpoint } from '#storage';
import type { CatalogChange } from './node.ts';

export interface StatePart {
  readonly data: Uint8Array;
  /** Index of the log after this part is installed. */
  readonly last: EntryId;
  /** It is the last part. */
  readonly isLast: boolean;
}

/** The members of a group and the index of the entry that set them; 0 for its first members. */
export interface HeldMembership {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** The same in rows, where the membership is opaque. */
type GroupMark = Checkpoint['group'];

export function membersIn({ index, membership }: GroupMark): HeldMembership {
  const decoded = decodeMembership(membership);
  assert(typeof decoded !== 'string', 'An applied row holds the membership that was put into it', decoded);
  return { index, membership: decoded };
}

/** The state of a group for a replica that lacks some or all of it. It is a snapshot at the time of opening. */
export interface StateExport {
  /** Members at its end. */
  readonly members: HeldMembership;
  /** Returns the next part, of about so many bytes. Not called again after the last. */
  next(bytesMax: number): Promise<StatePart>;
}

/** Checks parts as they arrive, and changes nothing. */
export interface StateImport {
  /**
   * Returns the position from which parts should continue, for an export. Parts that do not continue from there are
   * dropped.
   */
  resume(): Uint8Array;
  /** Returns what can be installed; undefined while more parts are needed first; as text the fault of the part. */
  take(part: StatePart): CheckedPart | undefined | string;
}

/** A part that a machine can install. */
export interface CheckedPart {
  readonly last: EntryId;
  /** It continues the state at this index of the log, or at a later one within it. */
  readonly basis: number;
  /** Approximate memory. */
  readonly bytes: number;
  /**
   * Installs the part in its machine, which is then at its end in the log. Returns the changes of the catalog.
   * Everything that was handed out is applied before, and nothing is applied until the whole snapshot is installed.
   */
  readonly install: (group: GroupMark) => readonly CatalogChange[];
}
