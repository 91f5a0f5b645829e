/**
 * #service: every specified operation once, for all transports.
 *
 * For: the order in which a request is judged, names and instances, the revision that a read runs at and the waiting
 * for it, idempotence as a caller sees it, live tails, what is counted. One function an operation, one file each;
 * `createService` binds them to a node.
 *
 * Not here: any word of gRPC, HTTP or JSON; how a write becomes durable (#cluster); how an event is found (#query).
 *
 * Invariants (V13 to V21, of components, of who asks and of how often, stand where they are kept):
 *   V1  A malformed name is invalid_argument before anything is looked up by it.
 *   V2  A transaction of the right shape is judged in this order: names, database, minRevision, recorded result, size,
 *       faults (all at once), constraints (all at once). What is refused is not recorded.
 *   V3  A repeated transaction_id is answered with the recorded result, whatever the body of the repeat.
 *   V4  Every reply names the database instance and the revision it was read at, and no event above that revision.
 *   V5  A read at a number answers only when that revision is applied here; beyond the database it is not_found with
 *       reason RevisionNotFound. With minRevision nothing is answered, and nothing is proposed, before that
 *       revision is applied here.
 *   V6  Work in flight on a deleted instance ends with not_found; nothing is read from it afterwards.
 *   V7  A reader that does not pull costs no memory beyond its chunk, and nobody waits for it.
 *   V8  Every wait ends with its signal, and with a limit of limits.ts where there is one.
 *   V9  Nobody is told that a database does not exist, and none is missing in a list, by a catalog that lacks what was
 *       acknowledged before: a node that does not know a name, or only as an instance that is gone, asks
 *       the catalog's leader first.
 *   V10 A node that holds no copy of a database (C30) answers no request for it, and proposes none; it says who does.
 *   V11 A name is looked up, and every slice of a stream is handed on, while the catalog here may be answered from
 *       (C21): a node that does not hear of deletions any more answers nothing of any instance, and a stream ends.
 *   V12 A database may be denied as soon as its deletion is decided. Until that is acknowledged, and no longer than
 *       leases of the catalog last (C26), others may be answered from it; then nobody is: it does not come back.
 */
export { EventFrames, type FrameOptions, type ListedName, type SlicePace, type StoredEvent } from '#query';
export { ANYBODY, type AuditRecord, auditService } from './access/audit.ts';
export { aboutAct, actOf } from './access/cluster-acts.ts';
export { guardService } from './access/guard.ts';
export type { ApiKeysRequest, IssueApiKeyRequest, IssuedApiKey } from './access/operations.ts';
export { OPERATIONS, type Operation, PERMISSIONS } from './access/permissions.ts';
export { commandCode, commandError, undecidedError } from './commands/command-error.ts';
export type { DecideCommandReply, ExecuteCommandReply } from './commands/operations.ts';
export type { Components, OpenComponents } from './components/components.ts';
export type {
  BoundStateView,
  OpenedPresenter,
  OpenedStateView,
  OpenStateViewRequest,
  RenderedState,
  StateViewBindings,
} from './components/operations.ts';
export { isBug, isFatal } from './fatal.ts';
export { SERVICE_LIMITS, type ServiceLimits } from './limits.ts';
export type {
  Cause,
  DatabaseDescription,
  Elsewhere,
  FetchTransactionReply,
  HealthReply,
  Holder,
  ListAt,
  ListNamesReply,
  ListNamesRequest,
  Proof,
  ProposedTransaction,
  QueryEventsRequest,
  ReadAt,
  ReadRequest,
  ReadScope,
  RecordedTransaction,
  RevisionFloor,
  Shown,
  SingleEventReply,
  SubscribeRequest,
  SubscriptionItem,
  TransactFields,
  TransactionDescription,
  TransactReply,
  TransactRequest,
} from './operations.ts';
export type { ListVersionsReply, PublishComponentReply, PublishComponentRequest } from './publishing/operations.ts';
export { type RateClient, RateLimiter } from './rate-limit/rate-limiter.ts';
export { type EventIdMapping, eventIdMappings, refusalError, storedEvents } from './replies.ts';
export { createService } from './service.ts';
export type { Service } from './service-interface.ts';
export { systemTimers, type Timers } from './timers.ts';
