/**
 * The messages between front and core: commands in one direction, reports in the other, each collected over a turn. The
 * other methods of the link are single calls.
 *
 * The core itself is a link with this contract, for a front in the same thread; `CoreThread` sends messages to the
 * thread of the core.
 */
import type { DatabaseError, DatabaseId, GroupId, LogIndex, NodeId, ReplicaId, Revision } from '#base';
import type { DiskLevel } from '#storage';
import type { CatalogChange } from './node.ts';
import type { Outcome } from './outcome.ts';

/** Number of a request, and of its answer. Those of the front are not negative, those of other nodes are. */
export type Token = number;

/** Returns whether the request is from another node. */
export function isForeign(token: Token): boolean {
  return token < 0;
}

export interface Proposal {
  readonly token: Token;
  readonly group: GroupId;
  /** Owned by the core from here on: it writes the recorded time into it. */
  readonly payload: Uint8Array;
  /** True when the report must include when it has become an entry of the log. */
  readonly tellsAdmission: boolean;
  /** True when it is refused, instead of forwarded, when another node leads. */
  readonly staysHere: boolean;
  /** The new database that it creates: if another node leads, that node encodes the payload from its name. */
  readonly creates?: NewDatabase;
  /** Number of times it was proposed again; absent: never. */
  readonly repeats?: number;
}

export interface NewDatabase {
  readonly name: string;
  /** Replicas that it asks for; 0: the setting of the cluster. */
  readonly copies: number;
  readonly databaseId: DatabaseId;
  readonly createdAtMs: number;
}

export interface CreateRequest extends Pick<NewDatabase, 'name' | 'copies'> {
  readonly token: Token;
  /** Same as in a proposal. */
  readonly staysHere: boolean;
}

export interface ReadRequest {
  readonly token: Token;
  readonly group: GroupId;
}

/** All commands of the front in one turn. */
export interface Commands {
  readonly proposals: readonly Proposal[];
  readonly creates: readonly CreateRequest[];
  readonly reads: readonly ReadRequest[];
  /** The front has applied the catalog up to this index of a report; 0: nothing new. */
  readonly shown: number;
  /** A client waits for rows: the core reports written rows at once (C6). */
  readonly follows: boolean;
}

/** The answer to one token. */
export type Settlement =
  | { readonly kind: 'outcome'; readonly token: Token; readonly outcome: Outcome }
  | { readonly kind: 'read'; readonly token: Token; readonly revision: Revision }
  | { readonly kind: 'refused'; readonly token: Token; readonly error: DatabaseError };

/** The rows up to this revision can be read. */
export interface ReadableRevision {
  readonly group: GroupId;
  readonly revision: Revision;
}

/** The leader of a group, as far as this node knows; undefined: none. */
export interface GroupLeader {
  readonly group: GroupId;
  readonly node: NodeId | undefined;
}

/** A diverged replica of this node. */
export interface Divergence {
  readonly group: GroupId;
  readonly replica: ReplicaId;
  /** Leader of the group when that was found. */
  readonly leader: NodeId;
  /** The difference, with both values. */
  readonly reason: string;
}

/** Damage of a history. */
export interface Damage {
  /** The first revision that cannot be read, where it is known. */
  readonly revision: number | undefined;
}

/** Finding about the data of a replica. */
export type HistoryNote =
  /** Its rows are rebuilt, because of the fault, or after a power failure (C43); `rebuilt` follows, or `damaged`. */
  | { readonly kind: 'rebuilding'; readonly group: GroupId; readonly fault: string | undefined }
  | { readonly kind: 'rebuilt'; readonly group: GroupId }
  /** Its rows cannot be rebuilt, because its history is damaged. */
  | ({ readonly kind: 'damaged'; readonly group: GroupId; readonly fault: string } & Damage)
  /** A replica of this node has diverged (C42). */
  | ({ readonly kind: 'diverged' } & Divergence)
  /** A member of a group that this node leads has lost acknowledged entries, up to that one; it gets them again. */
  | {
      readonly kind: 'acknowledged-lost';
      readonly group: GroupId;
      readonly node: NodeId;
      readonly acknowledged: LogIndex;
    };

/** The report of the core after one turn. The front processes it in this order (C6). */
export interface Report {
  readonly catalog: readonly CatalogChange[];
  /** The catalog is applied up to this index of its log, with these changes; 0 when there are none. */
  readonly catalogIndex: number;
  readonly readable: readonly ReadableRevision[];
  /** Groups with a new leader. */
  readonly leaders: readonly GroupLeader[];
  /** Admissions that were requested. The settlements follow, in this report or a later one. */
  readonly admitted: readonly Token[];
  readonly settlements: readonly Settlement[];
  readonly histories?: readonly HistoryNote[] | undefined;
}

export interface CoreLink {
  /**
   * True when this process has never known another node, so that every client was answered by this front. Once false it
   * stays so. It is ahead of every report (C32).
   */
  readonly isAlone: boolean;
  send(commands: Commands): void;
  /** Sets the only listener, before the first `send`. */
  onReport(listener: (report: Report) => void): void;
  /** Sets the disk level; by default everything is allowed. */
  reportDisk(level: DiskLevel): void;
  /** Reports that this process can run the component with this digest; with a fault, that it cannot. */
  runs(digest: string, fault?: string): void;
  /** Transfers the leaderships within this time while the node continues to work; called before `drain`. */
  leave(withinMs: number): Promise<void>;
  /** Completes the commands sent so far, makes them durable and closes everything. Nothing is sent afterwards. */
  drain(): Promise<void>;
}
