/**
 * #service: every specified operation once, for all transports.
 *
 * Purpose: validation in a fixed order, names and instances, the revision of a read and the wait for it, idempotence,
 * subscriptions, and metrics of operations. Each operation is a function in its own file; `createService` binds them to
 * a node.
 *
 * Not here: anything of gRPC, HTTP or JSON; durability of writes (#cluster); finding events (#query).
 *
 * Invariants (V13 to V22, about components, access and quotas, are in the files that keep them):
 *   V1  A malformed name is invalid_argument before anything is looked up by it.
 *   V2  A well-formed transaction is checked in this order: names, database, minRevision, recorded result, size,
 *       faults (all at once), constraints (all at once). A refused transaction is not recorded.
 *   V3  A repeated transaction_id gets the recorded result, whatever the body of the repeat.
 *   V4  Every reply names the database instance and the revision it was read at, and no event above that revision.
 *   V5  A read at a number answers only when that revision is applied here; beyond the database it is not_found with
 *       RevisionNotFound. With minRevision nothing is answered or proposed before that revision is applied here.
 *   V6  Work in flight on a deleted instance ends with not_found; nothing is read from it afterwards.
 *   V7  A reader that does not pull uses no memory beyond its chunk, and blocks no other request.
 *   V8  Every wait ends with its signal, and with a limit of limits.ts where there is one.
 *   V9  No answer denies a database, and no list omits one, because the local catalog lacks something that was
 *       acknowledged before: a node that does not know a name, or knows only a deleted instance of it, asks
 *       the catalog's leader first.
 *   V10 A node without a replica of a database (C30) answers and proposes nothing for it; it names the nodes that do.
 *   V11 A name is looked up, and every slice of a stream is passed on, only while the local catalog may be read
 *       (C21): a node that may miss deletions answers nothing about any instance, and its streams end.
 *   V12 A database may be reported as gone as soon as its deletion is decided. Until the deletion is
 *       acknowledged, and no longer than catalog leases last (C26), other requests may still be answered from it;
 *       afterwards none is.
 */
export { EventFrames, type FrameOptions, frameTransactions, type SlicePace, type StoredEvent } from '#query';
export type { ApiKeysRequest, IssueApiKeyRequest, IssuedApiKey } from './access/operations.ts';
export { commandCode, commandError, undecidedError } from './commands/command-error.ts';
export type {
  AskedDecision,
  DecideCommandReply,
  ExecuteCommandReply,
  ExecuteCommandRequest,
} from './commands/operations.ts';
export type {
  BoundStateView,
  OpenedPresenter,
  OpenedStateView,
  OpenStateViewRequest,
  Presented,
  StateViewBindings,
} from './components/operations.ts';
export type { Components, OpenComponents } from './context.ts';
export { ANYBODY, type AuditRecord, auditService } from './facade/audit.ts';
export { aboutAct, actOf } from './facade/cluster-acts.ts';
export { guardService } from './facade/guard.ts';
export { OPERATIONS, type Operation, PERMISSIONS } from './facade/permissions.ts';
export type { Service } from './facade/service.ts';
export { createService, systemTimers } from './facade/service.ts';
export { isBug, isFatal } from './fatal.ts';
export { SERVICE_LIMITS, type ServiceLimits } from './limits.ts';
export type {
  DatabaseDescription,
  Elsewhere,
  FetchTransactionReply,
  Holder,
  ListAt,
  ListedDatabase,
  ListNamesReply,
  ListNamesRequest,
  PacedRequest,
  Proof,
  ProposedTransaction,
  QueryEventsRequest,
  ReadAt,
  ReadRequest,
  ReadScope,
  RecordedTransaction,
  RevisionFloor,
  ScanLogRequest,
  Shown,
  SingleEventReply,
  SubscribeRequest,
  SubscriptionItem,
  TransactFields,
  TransactionDescription,
  TransactReply,
  TransactRequest,
} from './operations.ts';
export type {
  DeleteVersionsRequest,
  ListVersionsReply,
  ListVersionsRequest,
  PublishComponentReply,
  PublishComponentRequest,
  SetVersionStatusRequest,
} from './publishing/operations.ts';
export { type RateClient, RateLimiter } from './rate-limit/rate-limiter.ts';
export { eventIdMappings, refusalError, storedEvents } from './replies.ts';
