/**
 * How the state of a group gets from one replica to another, as the runtime sees it: in parts, each of which ends at a
 * place in the log. What is in a part is the business of the state machines.
 *
 *   standing ──> StateExport ── parts ──> StateImport ── checked parts ──> Machine.install
 */
import type { LogIndex } from '#base';
import type { EntryId, Membership } from '#raft';

export interface StatePart {
  readonly data: Uint8Array;
  /** Where in the log whoever has taken it over stands. */
  readonly last: EntryId;
  /** Nothing is left behind it. */
  readonly isLast: boolean;
}

/** The members of a group and the index of the entry that set them; 0 for the members it began with. */
export interface HeldMembership {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** The state of a group, for a replica that lacks some or all of it. It stays as it was when it was opened. */
export interface StateExport {
  /** Who belongs to the group as of its end. */
  readonly members: HeldMembership;
  /** The next part, of about so many bytes or a little. Not called again behind the last. */
  next(bytesMax: number): Promise<StatePart>;
}

/** Checks parts as they arrive, and changes nothing. */
export interface StateImport {
  /** From where on parts are to go on now: what an export is asked for. What cannot be gone on with is dropped. */
  resume(): Uint8Array;
  /** What of it can be installed: nothing while more parts must come first. As text: what is wrong with it. */
  take(part: StatePart): CheckedPart | undefined | string;
}

/** What a machine can take over as it is. */
export interface CheckedPart {
  readonly last: EntryId;
  /** It goes on from this revision or a later one that it holds. */
  readonly basis: number;
  /** And from what it holds of the log up to here; 0 or left out: the revision says enough. */
  readonly basisIndex?: number;
  /** Bytes that it takes in memory, about. */
  readonly bytes: number;
  readonly content: unknown;
}
