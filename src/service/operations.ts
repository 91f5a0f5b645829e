/**
 * Requests and replies of the operations, independent of any transport.
 *
 * A request has names and ids as the caller wrote them (the service validates them, in the order of V2) and parsed
 * model values for everything else. A reply has the database instance and the revision it was read at (V4). A failed
 * operation rejects with a `DatabaseError`; expected outcomes are unions with `kind`.
 */
import type { AskedRevision, ConstraintViolation, DatabaseId, GroupId, Instant, NodeId, Revision } from '#base';
import type { StoredId } from '#cluster';
import type {
  AskedPosition,
  Constraint,
  Direction,
  EventQuery,
  Faults,
  Grant,
  Origin,
  Position,
  Selector,
  TransactionOptions,
} from '#model';
import type { Traced } from '#observability';
import type { ListedName, SlicePace, StoredEvent, StoredTransaction } from '#query';

/** Revision of a read: a number, the latest committed one (read index), or the last one applied by this node. */
export type ReadAt = AskedRevision | 'latest' | 'cached';

/** Highest revision of an instance that clients of a node were shown by any node. */
export interface Shown {
  readonly databaseId: DatabaseId;
  readonly revision: Revision;
}

export interface ReadRequest extends Traced {
  readonly databaseName: string;
  /** The node answers only after it has applied this revision; from `x-min-revision`. */
  readonly minRevision?: AskedRevision;
  /** A further floor if the name means this instance; from the node that relays the request. */
  readonly shown?: Shown;
  /** Cancels the work. The operation then rejects with the reason of the signal. */
  readonly signal: AbortSignal;
}

/** A node accepts a write only after it has applied this revision; from `x-min-revision`. */
export interface RevisionFloor {
  readonly minRevision: AskedRevision;
  /** Ends the wait for the floor; a write that was proposed continues. */
  readonly signal: AbortSignal;
}

/** The instance and the revision that a reply was read at. Transports include both in every reply. */
export interface ReadScope {
  readonly databaseName: string;
  readonly databaseId: DatabaseId;
  readonly revision: Revision;
}

/** A database as it was at `revision`. */
export interface DatabaseDescription extends ReadScope {
  readonly createdAtMs: number;
  /** `revision - 1`, and 0 at 0. */
  readonly basis: Revision;
  /** Recorded time of `revision`; `createdAtMs` at revision 0. */
  readonly revisionTimeMs: number;
  /** Events in the revisions 1 to `revision`. */
  readonly eventCount: number;
  /** H(revision), 32 bytes. */
  readonly chainHash: Uint8Array;
  /** The newest revision that this node knows, at least `revision`. */
  readonly latestRevision: Revision;
}

/** A database of a list: with its name and times alone when no node that has it serves it. */
export type ListedDatabase =
  | DatabaseDescription
  | (Pick<DatabaseDescription, 'databaseName' | 'databaseId' | 'createdAtMs'> & { readonly revision: undefined });

export interface WriteRequest extends Traced {
  /** Refuses with `not_leader` when another node leads, instead of forwarding the write. */
  readonly requireLeader?: boolean;
}

export interface CreateDatabaseRequest extends WriteRequest {
  readonly databaseName: string;
  /** Replicas that vote, 1 to 7; absent: as many as the setting of the cluster. */
  readonly copies?: number | undefined;
  /** Grants with a quota; one of them must have room for another database. The guard sets them. Absent: no quota. */
  readonly bounds?: readonly Grant[] | undefined;
}

export interface DeleteDatabaseRequest extends WriteRequest {
  readonly databaseName: string;
  /** Present, even if empty: only this instance is deleted, and it is a success when it is gone. */
  readonly databaseId?: string;
  readonly floor?: RevisionFloor | undefined;
}

export type DeleteDatabaseReply =
  | { readonly kind: 'deleted'; readonly databaseId: DatabaseId }
  | { readonly kind: 'nothing-deleted' };

export interface ListDatabasesRequest extends Traced {
  /** Omits databases without a replica on this node. */
  readonly heldOnly?: boolean;
  /** Credentials that identify the client at other nodes; absent: not needed. */
  readonly proof?: Proof | undefined;
  readonly signal: AbortSignal;
}

/** Headers with credentials. */
export type Proof = Readonly<Record<string, string>>;

export interface DatabaseAtRequest extends ReadRequest {
  readonly at: ReadAt;
}

export interface DatabaseAtTimestampRequest extends ReadRequest {
  readonly timestamp: Instant;
}

/** Waits until the revision exists; the signal limits the wait. */
export interface AwaitDatabaseRequest extends ReadRequest {
  readonly revision: AskedRevision;
}

/** Names of the parts of a transaction in the request, for error messages. */
export interface TransactFields {
  readonly transactionId: string;
  readonly events: string;
  readonly constraints: string;
}

export interface TransactRequest extends WriteRequest {
  readonly databaseName: string;
  /** A UUID in any spelling; absent: the service creates one. */
  readonly transactionId?: string | undefined;
  readonly floor?: RevisionFloor | undefined;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  readonly constraints: readonly Constraint[];
  /** The well-formed events, each in canonical wire form. The arrays must not change before the reply. */
  readonly events: readonly Uint8Array[];
  /** Number of events in the request, including malformed ones. */
  readonly eventCount: number;
  /** Size of those events in bytes. */
  readonly eventBytes: number;
  /**
   * Faults in options, constraints and events; the service adds its own. They are reported after a recorded result was
   * looked up.
   */
  readonly faults: Faults;
  readonly fields: TransactFields;
  /**
   * Called when the transaction is an entry of the log, which is not durable yet; its outcome follows whether or not
   * the caller waits for it. Not called for a transaction that is refused for lack of space or capacity. A caller with
   * this callback will look the outcome up, so a refusal is stored (D25).
   */
  readonly onAdmitted?: (admitted: ProposedTransaction) => void;
}

/** A well-formed transaction in progress; whether it commits is decided when it is applied. */
export interface ProposedTransaction {
  readonly databaseName: string;
  readonly databaseId: DatabaseId;
  /** Lowercase. */
  readonly transactionId: string;
}

/** The recorded result of a transaction: of this attempt, or of the attempt that it repeats (V3). */
export interface RecordedTransaction extends ReadScope {
  readonly kind: 'recorded';
  /** Lowercase. */
  readonly transactionId: string;
  readonly basis: Revision;
  readonly recordedTimeMs: number;
  /** The recorded events in wire form; `eventIdMappings` extracts their ids. */
  readonly events: readonly Uint8Array[];
  /** Events that were stored under another id, ascending by index. */
  readonly storedIds: readonly StoredId[];
  /** True when this is the result of an earlier attempt. */
  readonly replayed: boolean;
}

/** Neither committed nor recorded: a repeat is decided again. `refusal` converts it to a `DatabaseError`. */
export interface RefusedTransaction extends ReadScope {
  readonly kind: 'refused';
  readonly violations: readonly ConstraintViolation[];
  /** Name of the list in the request that the constraints are counted in. */
  readonly constraintsField: string;
}

export type TransactReply = RecordedTransaction | RefusedTransaction;

export interface FetchTransactionRequest extends ReadRequest {
  readonly transactionId: string;
}

/** A transaction in its logged form. */
export interface TransactionDescription {
  /** Lowercase. */
  readonly transactionId: string;
  readonly revision: Revision;
  readonly basis: Revision;
  readonly recordedTimeMs: number;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  readonly events: readonly StoredEvent[];
  readonly chainHash: Uint8Array;
  /** Proto LoggedTransaction in wire form. */
  readonly record: Uint8Array;
}

/** A transaction named as the cause of another one by its `causation_id`. */
export interface Cause {
  /** Lowercase. */
  readonly transactionId: string;
}

export interface FetchTransactionReply extends ReadScope {
  readonly transaction: TransactionDescription;
  /** Its own cause, then the cause of that, and so on; only transactions of this database, and a limited number. */
  readonly causes: readonly Cause[];
}

/** A read whose reply is a stream of slices. */
export interface PacedRequest extends ReadRequest {
  /** Absent: slices are read when they are pulled. */
  readonly pace?: SlicePace;
  /**
   * True: a slice is lent until the next one is requested; then its memory is reused, which saves most of the work of
   * the garbage collector. By default false: it lives as long as it is referenced.
   */
  readonly lent?: boolean;
}

export interface QueryEventsRequest extends PacedRequest {
  readonly at: ReadAt;
  readonly query: EventQuery;
}

/** The scope is known before the first event is read. The chunks fail when the database is deleted. */
export interface QueryEventsReply extends ReadScope {
  readonly chunks: AsyncIterable<readonly StoredEvent[]>;
}

export interface ScanLogRequest extends PacedRequest {
  /** 0: from the first event in the direction. */
  readonly startRevision: Revision;
  readonly direction: Direction;
  /** Maximum number of events (transactions in `scanLogBatches`); 0: no limit. */
  readonly limit: number;
}

export interface ScanLogBatchesReply extends ReadScope {
  readonly batches: AsyncIterable<readonly StoredTransaction[]>;
}

export interface SubscribeRequest extends PacedRequest {
  readonly selector: Selector;
  /** Exclusive; absent: from the first event. */
  readonly after?: AskedPosition;
  /** A value out of range is refused. */
  readonly heartbeatMs: number;
}

export type SubscriptionItem =
  | { readonly kind: 'events'; readonly events: readonly StoredEvent[] }
  | { readonly kind: 'heartbeat'; readonly position: Position; readonly revision: Revision };

export interface SubscribeReply extends ReadScope {
  /** Pulled by the reader: nothing is read from the store in advance. Ends only by signal or error. */
  readonly items: AsyncIterable<SubscriptionItem>;
}

export interface ListNamesRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly prefix?: string;
  /** The last name of the previous page. */
  readonly after?: string;
  readonly limit: number;
}

export interface ListNamesReply extends ReadScope {
  readonly names: readonly ListedName[];
  readonly hasMore: boolean;
}

export interface SingleEventRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly event:
    | { readonly kind: 'position'; readonly position: AskedPosition }
    | { readonly kind: 'id'; readonly stream: string; readonly id: string };
}

export interface SingleEventReply extends ReadScope {
  readonly event: StoredEvent;
  /** Number of events in its transaction. */
  readonly eventCount: number;
  /** Id of its transaction, lowercase. */
  readonly transactionId: string;
  readonly correlationId: string | undefined;
  readonly causes: readonly Cause[];
}

export interface HealthReply {
  readonly status: 'ok' | 'degraded' | 'failed';
  readonly version: string;
  readonly storage: { readonly adapter: string; readonly status: string };
  readonly uptimeSeconds: number;
  /** True when databases can be read here: false while the node drains or does not reach the leader of the catalog. */
  readonly readable: boolean;
  /** True when writes can commit here. */
  readonly writable: boolean;
}

/** A node with a replica of a database. */
export interface Holder {
  readonly node: NodeId;
  readonly name: string;
  /** host:port of its gRPC server; empty when it is not known. */
  readonly grpc: string;
  /** URL of its HTTP server; empty when it is not known. */
  readonly http: string;
  /** True when it is in the zone of this node. */
  readonly isNear: boolean;
}

/** Asks a node to describe its databases; undefined when it does not answer. */
export type ListAt = (
  holder: Holder,
  signal: AbortSignal,
  proof: Proof | undefined,
) => Promise<readonly DatabaseDescription[]>;

/**
 * Nodes that can answer a request which this node has refused for lack of a replica (V10). The request was not executed
 * here.
 */
export interface Elsewhere {
  readonly group: GroupId;
  readonly databaseId: DatabaseId;
  readonly holders: readonly Holder[];
}
