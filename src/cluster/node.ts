/**
 * The node as the layers above see it: where writes go in, where a read learns how far it may read, and what is
 * happening to the catalog. It speaks in groups and opaque payloads; it does not know what an event is.
 *
 * Everything here lives in the front isolate. The groups themselves run in the core isolate (see DESIGN.md).
 */
import type { DatabaseError, DatabaseId, GroupId, LeaderAddress, NodeId, Revision } from '#base';
import type { KvReader } from '#kv';
import type { ApiKey } from '#model';
import type { DiskLevel } from '#storage';
import type {
  Binding,
  CreateOutcome,
  DefinitionOutcome,
  DeleteOutcome,
  KeyOutcome,
  Outcome,
  RegisteredNode,
  TransactOutcome,
} from './outcome.ts';

/** This node's copy of the catalog. It is never behind an acknowledged create or delete of this node (C6). */
export interface CatalogMirror {
  lookup(name: string): Binding | undefined;
  bindingOf(group: GroupId): Binding | undefined;
  /** Every binding, by name in code unit order. */
  list(): readonly Binding[];
  /** Every node of the cluster, by number; none before the first has said where it is. */
  nodes(): readonly RegisteredNode[];
  /** Every API key, by id. */
  apiKeys(): readonly ApiKey[];
  apiKey(id: string): ApiKey | undefined;
  /** Of the cluster: what may be written (ADR 0047). */
  readonly level: number;
  /** Calls the listener after each change. Returns how to stop. */
  onChange(listener: (change: CatalogChange) => void): () => void;
}

export type CatalogChange = Extract<
  Outcome,
  { readonly kind: 'created' | 'deleted' | 'moved' | 'registered' | 'raised' | 'key-kept' | 'key-removed' }
>;

/** How a wait for a revision ended: it is applied here, its database was deleted, or the caller gave up. */
export type WaitOutcome = 'reached' | 'gone' | 'aborted';

export interface NodeHealth {
  /** False while clients are to go elsewhere: the node drains, or is in the wrong cluster. */
  readonly accepting: boolean;
  /** Whether the node hands its leaderships over, to end, or until `undrain`. */
  readonly isDraining: boolean;
  readonly disk: DiskLevel;
  /** False when it does not reach the leader of the catalog: it answers nothing of any database (C21). */
  readonly knowsCatalog: boolean;
  /** Its clock is so far from those of other nodes that it leads nothing that they can, and dates nothing (C41). */
  readonly isClockFar: boolean;
  /** Since when the thread of the core has said nothing, which it does every second. */
  readonly coreSilentMs: number;
  /** What the node lacked when it started, it has. It stays so, whatever it lacks later. */
  readonly hasCaughtUp: boolean;
  /** Why this node answers nothing, in the wrong cluster; undefined: it does. */
  readonly otherCluster: string | undefined;
  /** Why every node that this one reaches refuses it, such as another secret; undefined: they do not. */
  readonly refusedBy: string | undefined;
  /** A replica here holds another history than its group, and serves nothing (C42). */
  readonly hasDiverged: boolean;
  readonly groupCount: number;
  /** Proposals that are taken in and not yet answered. */
  readonly pendingProposals: number;
}

/** What a node that ends has not done yet. */
export interface Unfinished {
  /** Databases that it leads and other nodes hold, too, the catalog among them. */
  readonly leads: number;
  /** Requests that it has not answered. */
  readonly requests: number;
}

export interface NodeIdentity {
  readonly node: NodeId;
  readonly clusterId: string;
  readonly storeId: string;
}

export interface ClientAddresses {
  /** host:port. */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** The same; absent where MCP is off. */
  readonly mcp?: string | undefined;
}

export interface WriteOptions {
  /** Refused with `not_leader` when another node leads, instead of forwarded to it. */
  readonly requireLeader?: boolean | undefined;
}

export interface TransactOptions extends WriteOptions {
  /**
   * Called once when the transaction is an entry of the leader's log, not yet durable, before its outcome; never when
   * it is refused.
   */
  readonly onAdmitted?: (() => void) | undefined;
}

export interface Node {
  readonly identity: NodeIdentity;
  readonly catalog: CatalogMirror;
  /**
   * Undefined while `catalog` may be answered from (C21): whoever works on an instance looks here, and then at the
   * catalog, after his request came. Otherwise resolves when it may, and rejects with `unavailable` when this node does
   * not reach the leader of the catalog in time.
   */
  currentCatalog(): Promise<void> | undefined;
  /** Applied state. Rows of revisions above `applied(group)` may already be visible in it and must be ignored. */
  readonly reader: KvReader;
  /**
   * Why this node cannot answer for a database of the catalog: it holds no copy of it, or one that is behind what was
   * shown here (C30). Undefined when it can.
   */
  absence(group: GroupId): DatabaseError | undefined;
  /** Who leads the group, as far as is known here; undefined: nobody, as it seems. */
  leaderOf(group: GroupId): LeaderAddress | undefined;
  /**
   * What a write is refused with that is for the leader alone, as far as is known here. Undefined: this node leads, or
   * nobody does; a proposal finds out.
   */
  notLeading(group: GroupId): DatabaseError | undefined;
  /** Where other nodes reach this one: host:port; undefined when they cannot. */
  readonly peerAddress: string | undefined;
  /** Tells the node where clients reach it; known once the servers have bound their ports. Others learn it, too. */
  advertise(clients: ClientAddresses): void;

  createDatabase(name: string, options?: WriteOptions): Promise<CreateOutcome>;
  /** With `databaseId`, deletes only that instance. */
  deleteDatabase(name: string, databaseId?: DatabaseId, options?: WriteOptions): Promise<DeleteOutcome>;
  /**
   * Decides a transaction. The caller gives the payload away: the leader stamps the recorded time into it. The outcome
   * comes when it is durable; the rows of its revision may follow a moment later (`waitFor`), but for a replay, whose
   * rows are there.
   */
  transact(group: GroupId, payload: Uint8Array, options?: TransactOptions): Promise<TransactOutcome>;

  /**
   * Decides an entry that defines something. The payload is given away as with `transact`. The outcome comes when its
   * rows are in the store here. Refused below feature level 2.
   */
  define(group: GroupId, payload: Uint8Array, options?: WriteOptions): Promise<DefinitionOutcome>;

  /**
   * Has the catalog keep an API key as it is said, if its version follows the one that it has. Refused below feature
   * level 3.
   */
  keepApiKey(key: ApiKey): Promise<KeyOutcome>;
  removeApiKey(id: string): Promise<KeyOutcome>;

  /**
   * The revision that a linearizable read must show, applied here: confirmed by the leader after this call, or known
   * without it, since nobody was told of a later one (C32).
   */
  latest(group: GroupId): Promise<Revision>;
  /** The same by the core's word in any case: all that the core had to say before was heard by then. */
  confirmedLatest(group: GroupId): Promise<Revision>;
  /** The revision whose rows `reader` has, without asking anyone. Never goes back; 0 for a group that is gone. */
  applied(group: GroupId): Revision;
  /**
   * The highest revision that this node has told anybody, at or above `applied`; what comes after may not show less.
   */
  answered(group: GroupId): Revision;
  /** Somebody is shown this revision of a copy of another node, which answers through this one. */
  show(group: GroupId, revision: Revision): void;
  /** Waits until the revision is applied and its rows can be read. */
  waitFor(group: GroupId, revision: Revision, signal: AbortSignal): Promise<WaitOutcome>;
  /** Calls the listener after each applied batch of the group; with undefined, once, when the group is gone. */
  onApplied(group: GroupId, listener: (revision: Revision | undefined) => void): () => void;

  /** This process can run the component with this digest or, with a fault, cannot; operators see it. */
  runs(digest: string, fault?: string): void;
  health(): NodeHealth;
  readonly unfinished: Unfinished;
  /**
   * Hands over whatever this node leads to others, while it goes on answering: its clients are forwarded. Resolves when
   * that is done, when nobody takes what is left, or after so long; may be repeated. `drain` does not need it, but has
   * others wait for longer without it.
   */
  leave(withinMs: number): Promise<void>;
  /** Takes no more proposals, answers the ones it has, checkpoints, closes. Resolves when everything is closed. */
  drain(): Promise<void>;
}
