/**
 * The operations of Cairn as a caller sees them: every request and every reply, without a word of any transport.
 *
 * A request carries names and ids as the caller wrote them (the service judges them, in the order of V2) and parsed
 * model values for everything else. A reply names the database instance and the revision it was read at (V4).
 * A failed operation is a `DatabaseError`; outcomes that are expected to go either way are unions with `kind`.
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
import type { ListedName, SlicePace, StoredEvent } from '#query';

/** Which revision a read runs at: a number, the latest committed (read index), or whatever this node has applied. */
export type ReadAt = AskedRevision | 'latest' | 'cached';

/** What clients of a node were shown of an instance, whoever answered them. */
export interface Shown {
  readonly databaseId: DatabaseId;
  readonly revision: Revision;
}

/** What every read says. */
export interface ReadRequest extends Traced {
  readonly databaseName: string;
  /** The node answers only once it has applied this revision; from `x-min-revision`. */
  readonly minRevision?: AskedRevision;
  /** The same, if the name means this instance; from the node that relays the request. */
  readonly shown?: Shown;
  /** Ends the work at the bottom. Afterwards the operation rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** A write is taken only by a node that has applied this revision; from `x-min-revision`. */
export interface RevisionFloor {
  readonly minRevision: AskedRevision;
  /** Ends the wait for it; a write that is proposed already runs on. */
  readonly signal: AbortSignal;
}

/** The instance and the revision that a reply was read at. Transports put both into every reply. */
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

/** What every write may ask for. */
export interface WriteRequest extends Traced {
  /** Refused with `not_leader` when another node leads, instead of forwarded to it (decisions, 6.3). */
  readonly requireLeader?: boolean;
}

export interface CreateDatabaseRequest extends WriteRequest {
  readonly databaseName: string;
  /** Grants of which one must leave room for another database; the guard writes them. None: there is no bound. */
  readonly bounds?: readonly Grant[] | undefined;
}

export interface DeleteDatabaseRequest extends WriteRequest {
  readonly databaseName: string;
  /** Present, also when empty: only this instance is deleted, and nothing to delete is a success. */
  readonly databaseId?: string;
  readonly floor?: RevisionFloor | undefined;
}

export type DeleteDatabaseReply =
  | { readonly kind: 'deleted'; readonly databaseId: DatabaseId }
  | { readonly kind: 'nothing-deleted' };

export interface ListDatabasesRequest extends Traced {
  /** Leaves out what this node holds no copy of. */
  readonly heldOnly?: boolean;
  /** By which other nodes know on whose behalf they are asked; absent: they need not know. */
  readonly proof?: Proof | undefined;
  readonly signal: AbortSignal;
}

/** Headers that say who asks. */
export type Proof = Readonly<Record<string, string>>;

export interface DatabaseAtRequest extends ReadRequest {
  readonly at: ReadAt;
}

export interface DatabaseAtTimestampRequest extends ReadRequest {
  readonly timestamp: Instant;
}

/** Waits until the revision exists; how long is the signal's business. */
export interface AwaitDatabaseRequest extends ReadRequest {
  readonly revision: AskedRevision;
}

/** Where the parts of a transaction stand, in the request's own words, for whoever is told what is wrong with them. */
export interface TransactFields {
  readonly transactionId: string;
  readonly events: string;
  readonly constraints: string;
}

export interface TransactRequest extends WriteRequest {
  readonly databaseName: string;
  /** A UUID in any spelling; absent: the service mints one. */
  readonly transactionId?: string | undefined;
  readonly floor?: RevisionFloor | undefined;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  readonly constraints: readonly Constraint[];
  /** The well-formed events, each in canonical wire form. The service keeps the arrays until it has answered. */
  readonly events: readonly Uint8Array[];
  /** Events of the request, the malformed ones too. */
  readonly eventCount: number;
  /** Bytes of those events. */
  readonly eventBytes: number;
  /** What is wrong with options, constraints and events; the service adds its own. Judged after the recorded result. */
  readonly faults: Faults;
  readonly fields: TransactFields;
  /**
   * Told when the transaction is an entry of the log, which is not durable yet: its outcome follows, whoever still
   * waits for it. Not told of a transaction that is refused for want of room or capacity. Whoever wants to be told will
   * look the outcome up, so a refusal is kept (D25).
   */
  readonly onAdmitted?: (admitted: ProposedTransaction) => void;
}

/** A transaction that is well-formed and under way; whether it commits is decided when it is applied. */
export interface ProposedTransaction {
  readonly databaseName: string;
  readonly databaseId: DatabaseId;
  /** Lowercase. */
  readonly transactionId: string;
}

/** The recorded result of a transaction: of this attempt, or of the one that it repeats (V3). */
export interface RecordedTransaction extends ReadScope {
  readonly kind: 'recorded';
  /** Lowercase. */
  readonly transactionId: string;
  readonly basis: Revision;
  readonly recordedTimeMs: number;
  /** The recorded events in wire form; `eventIdMappings` reads their ids. */
  readonly events: readonly Uint8Array[];
  /** Events that were stored under another id, ascending by index. */
  readonly storedIds: readonly StoredId[];
  /** True when this is the result of an earlier attempt. */
  readonly replayed: boolean;
}

/** Not committed, not recorded: a repeat is decided anew. `refusal` makes a `DatabaseError` of it. */
export interface RefusedTransaction extends ReadScope {
  readonly kind: 'refused';
  readonly violations: readonly ConstraintViolation[];
  /** The list that they count in, as the request calls it. */
  readonly constraintsField: string;
}

export type TransactReply = RecordedTransaction | RefusedTransaction;

export interface FetchTransactionRequest extends ReadRequest {
  readonly transactionId: string;
}

/** A transaction as the log keeps it. */
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

/** A transaction that another one names as what it came of, by its `causation_id`. */
export interface Cause {
  /** Lowercase. */
  readonly transactionId: string;
  readonly revision: Revision;
}

export interface FetchTransactionReply extends ReadScope {
  readonly transaction: TransactionDescription;
  /** What it came of, then what that came of; as far as these are transactions of this database, and not many. */
  readonly causes: readonly Cause[];
}

/** A read whose reply is a stream of slices. */
export interface PacedRequest extends ReadRequest {
  /** Absent: slices are read as they are pulled. */
  readonly pace?: SlicePace;
  /**
   * True: a slice is lent. It may be looked at until the next one is asked for, and then its memory is given back,
   * which saves the garbage collector most of its work. Default false: it stays as long as somebody holds it.
   */
  readonly lent?: boolean;
}

export interface QueryEventsRequest extends PacedRequest {
  readonly at: ReadAt;
  readonly query: EventQuery;
}

/** The scope is known before the first event is read; the chunks end with an error when the database is deleted. */
export interface QueryEventsReply extends ReadScope {
  readonly chunks: AsyncIterable<readonly StoredEvent[]>;
}

export interface ScanLogRequest extends PacedRequest {
  /** Absent: the latest. */
  readonly at?: ReadAt;
  /** 0: from the first in the direction. */
  readonly startRevision: Revision;
  readonly direction: Direction;
  /** Events at most (transactions in `scanLogBatches`); 0: no limit. */
  readonly limit: number;
}

export interface ScanLogBatchesReply extends ReadScope {
  /** Slices of log batches, each a proto LogBatch in wire form. */
  readonly batches: AsyncIterable<readonly Uint8Array[]>;
}

export interface SubscribeRequest extends PacedRequest {
  readonly selector: Selector;
  /** Exclusive; absent: from the first event. */
  readonly after?: AskedPosition;
  /** Any uint64; what is out of bounds is refused. */
  readonly heartbeatMs: number | bigint;
}

export type SubscriptionItem =
  | { readonly kind: 'events'; readonly events: readonly StoredEvent[] }
  | { readonly kind: 'heartbeat'; readonly position: Position; readonly revision: Revision };

export interface SubscribeReply extends ReadScope {
  /** Pulled by the reader: what it does not take is not read from the store. Ends only by signal or error. */
  readonly items: AsyncIterable<SubscriptionItem>;
}

export interface ListNamesRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly prefix?: string;
  /** The last name of the page before. */
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
  /** Events of the transaction that it belongs to. */
  readonly eventCount: number;
  /** Of that transaction, lowercase. */
  readonly transactionId: string;
  readonly correlationId: string | undefined;
  readonly causes: readonly Cause[];
}

export interface HealthReply {
  readonly status: 'ok' | 'degraded' | 'failed';
  readonly version: string;
  readonly storage: { readonly adapter: string; readonly status: string };
  readonly uptimeSeconds: number;
  /** Whether databases can be read here: not while the node drains, nor when it does not reach the catalog's leader. */
  readonly readable: boolean;
  /** Whether writes can commit here. */
  readonly writable: boolean;
}

/** A node that holds a copy of a database. */
export interface Holder {
  readonly node: NodeId;
  readonly name: string;
  /** host:port of its gRPC server; empty: not known yet. */
  readonly grpc: string;
  /** URL of its HTTP server; empty: not known yet. */
  readonly http: string;
  /** Whether it is in the zone of this node. */
  readonly isNear: boolean;
}

/** What a node says of the databases that it holds; nothing when it does not answer. */
export type ListAt = (
  holder: Holder,
  signal: AbortSignal,
  proof: Proof | undefined,
) => Promise<readonly DatabaseDescription[]>;

/** Where a request can be answered that this node has refused for want of a copy (V10). It has not been tried. */
export interface Elsewhere {
  readonly group: GroupId;
  readonly databaseId: DatabaseId;
  readonly holders: readonly Holder[];
}
