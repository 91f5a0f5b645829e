/**
 * What passes between the front and the core: commands one way, reports the other, each gathered over a turn.
 *
 * Two links keep this contract: `directLink` calls the core in the same thread (tests, simulation), `WorkerLink` sends
 * messages to the core's isolate.
 */
import type { DatabaseError, DatabaseId, GroupId, LogIndex, NodeId, Revision } from '#base';
import type { DiskLevel } from '#storage';
import type { CatalogChange } from '../node.ts';
import type { Outcome } from '../outcome.ts';
import type { Divergence } from '../store/node-rows.ts';

/**
 * Numbers a request; its answer carries the same number. Those of the front are 0 and more, those of other nodes less.
 */
export type Token = number;

/** Whether another node has asked. */
export function isForeign(token: Token): boolean {
  return token < 0;
}

export interface Proposal {
  readonly token: Token;
  readonly group: GroupId;
  /** The core's own from here on: it stamps the recorded time into it. */
  readonly payload: Uint8Array;
  /** Whether the report is to say when it has become an entry of the log. */
  readonly tellsAdmission: boolean;
  /** Whether it is to be refused, and not forwarded, when another node leads. */
  readonly staysHere: boolean;
  /** The new database that it stands for: if another node is to take it, that one makes the payload of its name. */
  readonly creates?: NewDatabase;
  /** How often it was proposed again; absent: never. */
  readonly repeats?: number;
}

export interface NewDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly createdAtMs: number;
}

export interface CreateRequest {
  readonly token: Token;
  readonly name: string;
  /** As of a proposal. */
  readonly staysHere: boolean;
}

export interface DeleteRequest {
  readonly token: Token;
  readonly name: string;
  readonly databaseId: DatabaseId | undefined;
  /** As of a proposal. */
  readonly staysHere: boolean;
}

export interface ReadRequest {
  readonly token: Token;
  readonly group: GroupId;
}

/** Everything the front asks for in one turn. */
export interface Commands {
  readonly proposals: readonly Proposal[];
  readonly creates: readonly CreateRequest[];
  readonly deletes: readonly DeleteRequest[];
  readonly reads: readonly ReadRequest[];
  /** The front has taken in the catalog up to this index of its log, as a report said it; 0: nothing new. */
  readonly shown: number;
  /** Somebody waits for rows: the core reports what is written at once, and not by the way (C6). */
  readonly follows: boolean;
}

/** The answer to one token. */
export type Settlement =
  | { readonly kind: 'outcome'; readonly token: Token; readonly outcome: Outcome }
  | { readonly kind: 'read'; readonly token: Token; readonly revision: Revision }
  | { readonly kind: 'refused'; readonly token: Token; readonly error: DatabaseError };

export interface AppliedRevision {
  readonly group: GroupId;
  readonly revision: Revision;
}

/** Who leads a group, as far as this node knows; undefined: nobody, as it seems. */
export interface GroupLeader {
  readonly group: GroupId;
  readonly node: NodeId | undefined;
}

/** What the core has found out about the history of a replica. */
export type HistoryNote =
  /** A replica of this node holds another history than its group (C42). */
  | ({ readonly kind: 'diverged' } & Divergence)
  /** A member of a group that this node leads lacks what it had acknowledged, up to that entry; it gets it again. */
  | {
      readonly kind: 'acknowledged-lost';
      readonly group: GroupId;
      readonly node: NodeId;
      readonly acknowledged: LogIndex;
    };

/** Everything the core has to say after one turn. The front takes it in this order (C6). */
export interface Report {
  readonly catalog: readonly CatalogChange[];
  /** The catalog is there up to this index of its log, with these changes; 0 when there are none. */
  readonly catalogIndex: number;
  readonly applied: readonly AppliedRevision[];
  /** Of groups that have another leader than before. */
  readonly leaders: readonly GroupLeader[];
  /** Proposals that wanted to be told, and are entries now. Their settlements follow, in this report or a later one. */
  readonly admitted: readonly Token[];
  readonly settlements: readonly Settlement[];
  readonly histories?: readonly HistoryNote[] | undefined;
}

export interface CoreLink {
  /**
   * Whether no other node has been known here since this process began: whatever anybody was told of a database, the
   * front has told. Once false it stays so. It is ahead of every report (C32).
   */
  readonly isAlone: boolean;
  send(commands: Commands): void;
  /** One listener, set before the first `send`. */
  onReport(listener: (report: Report) => void): void;
  /** Says what the disk allows from now on; everything until told otherwise. */
  reportDisk(level: DiskLevel): void;
  /** This process can run the component with this digest; with a fault, it cannot. */
  runs(digest: string, fault?: string): void;
  /** Hands over whatever the node leads, for so long at most, while everything else goes on; comes before `drain`. */
  leave(withinMs: number): Promise<void>;
  /** Finishes what was sent, makes it durable and closes everything. Nothing is sent afterwards. */
  drain(): Promise<void>;
}
