/**
 * The node as the layers above see it: the entry point of writes, read revisions, and changes of the catalog. It uses
 * groups and opaque payloads, and does not know events.
 *
 * Everything here runs in the front thread; the groups run in the core thread (see DESIGN.md).
 */
import {
  type DatabaseError,
  type DatabaseId,
  type GroupId,
  type LeaderAddress,
  type NodeId,
  nodeOf,
  type ReplicaId,
  type Revision,
  replicaOf,
  toNodeId,
} from '#base';
import type { KvReader } from '#kv';
import type { ApiKey } from '#model';
import { type Membership, membershipOf } from '#raft';
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
  /** Every node of the cluster, by number; empty before the first has registered. */
  nodes(): readonly RegisteredNode[];
  /** Every API key, by id. */
  apiKeys(): readonly ApiKey[];
  apiKey(id: string): ApiKey | undefined;
  /** Feature level of the cluster (ADR 0047). */
  readonly level: number;
  /** Calls the listener after each change. Returns a function that removes it. */
  onChange(listener: (change: CatalogChange) => void): () => void;
}

export type CatalogChange = Extract<
  Outcome,
  { readonly kind: 'created' | 'deleted' | 'moved' | 'registered' | 'raised' | 'key-kept' | 'key-removed' }
>;

/** Result of a wait for a revision: its rows can be read here, its database was deleted, or the caller cancelled. */
export type WaitOutcome = 'reached' | 'gone' | 'aborted';

export interface NodeHealth {
  /** False while clients should use other nodes: the node drains, or is in the wrong cluster. */
  readonly accepting: boolean;
  /** True when the node drains, to exit or until `undrain`. */
  readonly isDraining: boolean;
  readonly disk: DiskLevel;
  /** False when it does not reach the leader of the catalog: it serves no database (C21). */
  readonly knowsCatalog: boolean;
  /**
   * Its clock differs so much from those of other nodes that it leads nothing that they can, and assigns no times
   * (C41).
   */
  readonly isClockFar: boolean;
  /** Time since the last report of the core thread, which sends one every second. */
  readonly coreSilentMs: number;
  /** True when it has everything that it lacked at its start. It stays true, whatever it lacks later. */
  readonly hasCaughtUp: boolean;
  /** Reason why this node serves nothing, in the wrong cluster; undefined: it serves. */
  readonly otherCluster: string | undefined;
  /** Reason why every reachable node refuses this one, such as another secret; undefined: none. */
  readonly refusedBy: string | undefined;
  /** True when a replica here has diverged, and serves nothing (C42). */
  readonly hasDiverged: boolean;
  /** Accepted proposals without an answer. */
  readonly pendingProposals: number;
}

/** Pending work of a node that exits. */
export interface Unfinished {
  /** Leaderships of groups with other members, including the catalog. */
  readonly leads: number;
  /** Requests without an answer. */
  readonly requests: number;
}

export interface NodeIdentity {
  readonly node: NodeId;
  /** True when it votes for nothing, and has a replica of every database. */
  readonly isLearner: boolean;
  readonly clusterId: string;
  readonly storeId: string;
}

/**
 * The replica of this node among those of a database. The binding does not name learners, because each has one of every
 * database as long as it is a node.
 */
export function ownReplica(
  { node, isLearner }: Pick<NodeIdentity, 'node' | 'isLearner'>,
  { replicas }: Pick<Binding, 'replicas'>,
): ReplicaId | undefined {
  return isLearner ? replicaOf(node) : replicas.find((replica) => nodeOf(replica) === node);
}

/** The founder of a cluster is its first node, and the only first member of its catalog. */
export const FIRST_NODE: NodeId = toNodeId(1);
export const FOUNDERS: Membership = membershipOf([replicaOf(FIRST_NODE)]);

export interface ClientAddresses {
  /** host:port. */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** The URL of MCP; absent when it is off. */
  readonly mcp?: string | undefined;
}

export interface WriteOptions {
  /** Refuses with `not_leader` when another node leads, instead of forwarding. */
  readonly requireLeader?: boolean | undefined;
}

export interface CreateOptions extends WriteOptions {
  /** Replicas that vote; absent: as many as the setting of the cluster. */
  readonly copies?: number | undefined;
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
   * Undefined while `catalog` may be read (C21): an operation on an instance calls this first, and then reads the
   * catalog, after its request arrived. Otherwise resolves when it may, and rejects with `unavailable` when this node
   * does not reach the leader of the catalog in time.
   */
  currentCatalog(): Promise<void> | undefined;
  /** Applied state. Rows of revisions above `readable(group)` may already be visible in it and must be ignored. */
  readonly reader: KvReader;
  /**
   * Reason why this node cannot answer for a database: it has no replica of it, or one that lags what was shown here
   * (C30). Undefined when it can.
   */
  absence(group: GroupId): DatabaseError | undefined;
  /** The leader of the group, as far as it is known here; undefined: none. */
  leaderOf(group: GroupId): LeaderAddress | undefined;
  /**
   * The refusal of a write with `requireLeader`, as far as it is known here. Undefined: this node leads, or none does,
   * which a proposal finds out.
   */
  notLeading(group: GroupId): DatabaseError | undefined;
  /** Address for other nodes: host:port; undefined when there is none. */
  readonly peerAddress: string | undefined;
  /** Sets the client addresses of this node, once the servers have bound their ports. Other nodes learn them, too. */
  advertise(clients: ClientAddresses): void;

  createDatabase(name: string, options?: CreateOptions): Promise<CreateOutcome>;
  /** With `databaseId`, deletes only that instance. */
  deleteDatabase(name: string, databaseId?: DatabaseId, options?: WriteOptions): Promise<DeleteOutcome>;
  /**
   * Decides a transaction. The caller gives the payload away: the leader writes the recorded time into it. The outcome
   * arrives when it is durable. The rows of its revision may follow slightly later (`waitFor`); those of a replay
   * exist.
   */
  transact(group: GroupId, payload: Uint8Array, options?: TransactOptions): Promise<TransactOutcome>;

  /**
   * Decides an entry about definitions. The payload is given away as with `transact`. The outcome arrives when its rows
   * are in the store here.
   */
  define(group: GroupId, payload: Uint8Array, options?: WriteOptions): Promise<DefinitionOutcome>;

  /** Stores an API key in the catalog, if its version follows the stored one. */
  keepApiKey(key: ApiKey): Promise<KeyOutcome>;
  removeApiKey(id: string): Promise<KeyOutcome>;

  /**
   * The revision that a linearizable read must show, applied here: confirmed by the leader after this call, or known
   * without it, because no client was shown a later one (C32).
   */
  latest(group: GroupId): Promise<Revision>;
  /** Like `latest`, but always confirmed by the core, whose earlier reports are then processed. */
  confirmedLatest(group: GroupId): Promise<Revision>;
  /** The revision whose rows `reader` has, without a request. Never decreases; 0 for a group that is gone. */
  readable(group: GroupId): Revision;
  /**
   * The highest revision that this node has returned to a client, at or above `readable`; later reads must not show
   * less.
   */
  answered(group: GroupId): Revision;
  /** A client is shown this revision of a replica on another node, by a relayed request. */
  show(group: GroupId, revision: Revision): void;
  /** Waits until the rows of the revision can be read. */
  waitFor(group: GroupId, revision: Revision, signal: AbortSignal): Promise<WaitOutcome>;
  /** Calls the listener whenever `readable` of the group increases; with undefined, once, when the group is gone. */
  onReadable(group: GroupId, listener: (revision: Revision | undefined) => void): () => void;

  /** Reports that this process can run the component with this digest or, with a fault, cannot; operators see it. */
  runs(digest: string, fault?: string): void;
  health(): NodeHealth;
  readonly unfinished: Unfinished;
  /**
   * Transfers the leaderships to other nodes while requests continue and are forwarded. Resolves when all are
   * transferred, when no node takes the rest, or after this time; may be repeated. `drain` does not need it, but
   * without it other nodes wait for an election timeout.
   */
  leave(withinMs: number): Promise<void>;
  /** Accepts no more proposals, answers pending ones, makes a checkpoint and closes. Resolves when all is closed. */
  drain(): Promise<void>;
}
