/** The interface of all operations for transports, implemented by `createService`. */
import type { GroupId, LeaderAddress, Revision } from '#base';
import type { AdminReply, ClusterDescription } from '#cluster';
import type { ApiKey } from '#model';
import type {
  ApiKeysRequest,
  IssueApiKeyRequest,
  IssuedApiKey,
  IssueTokenRequest,
  NamedKeyRequest,
  NamedTokenRequest,
  RevokeApiKeyRequest,
  RotateApiKeyRequest,
  TokensRequest,
} from './access/operations.ts';
import type { AdministerClusterRequest, DescribeClusterRequest } from './administer-cluster.ts';
import type {
  DecideCommandReply,
  DecideCommandRequest,
  ExecuteCommandReply,
  ExecuteCommandRequest,
} from './commands/operations.ts';
import type { OpenedStateView, OpenStateViewRequest } from './components/operations.ts';
import type { CompileAheadListeners } from './maintenance/compile-ahead.ts';
import type { KeepViewsListeners } from './maintenance/keep-views.ts';
import type {
  AwaitDatabaseRequest,
  CreateDatabaseRequest,
  DatabaseAtRequest,
  DatabaseAtTimestampRequest,
  DatabaseDescription,
  DeleteDatabaseReply,
  DeleteDatabaseRequest,
  Elsewhere,
  FetchTransactionReply,
  FetchTransactionRequest,
  HealthReply,
  ListDatabasesRequest,
  ListNamesReply,
  ListNamesRequest,
  QueryEventsReply,
  QueryEventsRequest,
  ReadScope,
  ScanLogBatchesReply,
  ScanLogRequest,
  SingleEventReply,
  SingleEventRequest,
  SubscribeReply,
  SubscribeRequest,
  TransactReply,
  TransactRequest,
} from './operations.ts';
import type {
  DeleteVersionsRequest,
  ExpireSnapshotsReply,
  ExpireSnapshotsRequest,
  FindVersionRequest,
  ListVersionsReply,
  ListVersionsRequest,
  PublishComponentReply,
  PublishComponentRequest,
  SetVersionStatusRequest,
  VersionReply,
} from './publishing/operations.ts';

export interface Service {
  createDatabase(request: CreateDatabaseRequest): Promise<DatabaseDescription>;
  deleteDatabase(request: DeleteDatabaseRequest): Promise<DeleteDatabaseReply>;
  listDatabases(request: ListDatabasesRequest): Promise<readonly DatabaseDescription[]>;
  databaseAt(request: DatabaseAtRequest): Promise<DatabaseDescription>;
  databaseAtTimestamp(request: DatabaseAtTimestampRequest): Promise<DatabaseDescription>;
  awaitDatabase(request: AwaitDatabaseRequest): Promise<DatabaseDescription>;
  transact(request: TransactRequest): Promise<TransactReply>;
  fetchTransaction(request: FetchTransactionRequest): Promise<FetchTransactionReply>;
  queryEvents(request: QueryEventsRequest): Promise<QueryEventsReply>;
  scanLog(request: ScanLogRequest): Promise<QueryEventsReply>;
  scanLogBatches(request: ScanLogRequest): Promise<ScanLogBatchesReply>;
  subscribe(request: SubscribeRequest): Promise<SubscribeReply>;
  listStreams(request: ListNamesRequest): Promise<ListNamesReply>;
  listSubjects(request: ListNamesRequest): Promise<ListNamesReply>;
  listEventTypes(request: ListNamesRequest): Promise<ListNamesReply>;
  singleEvent(request: SingleEventRequest): Promise<SingleEventReply>;
  publishComponent(request: PublishComponentRequest): Promise<PublishComponentReply>;
  setVersionStatus(request: SetVersionStatusRequest): Promise<VersionReply>;
  deleteVersions(request: DeleteVersionsRequest): Promise<ReadScope>;
  expireSnapshots(request: ExpireSnapshotsRequest): Promise<ExpireSnapshotsReply>;
  findVersion(request: FindVersionRequest): Promise<VersionReply>;
  listVersions(request: ListVersionsRequest): Promise<ListVersionsReply>;
  executeCommand(request: ExecuteCommandRequest): Promise<ExecuteCommandReply>;
  decideCommand(request: DecideCommandRequest): Promise<DecideCommandReply>;
  issueApiKey(request: IssueApiKeyRequest): Promise<IssuedApiKey>;
  listApiKeys(request: ApiKeysRequest): Promise<readonly ApiKey[]>;
  findApiKey(request: NamedKeyRequest): Promise<ApiKey>;
  /** Issues a new secret for the key; the previous one stays valid for a while. */
  rotateApiKey(request: RotateApiKeyRequest): Promise<IssuedApiKey>;
  revokeApiKey(request: RevokeApiKeyRequest): Promise<void>;
  /** Rejects also when this issuer, or the cluster, has the maximum number of tokens. */
  issueToken(request: IssueTokenRequest): Promise<IssuedApiKey>;
  listTokens(request: TokensRequest): Promise<readonly ApiKey[]>;
  findToken(request: NamedTokenRequest): Promise<ApiKey>;
  revokeToken(request: NamedTokenRequest): Promise<void>;
  openStateView(request: OpenStateViewRequest): Promise<OpenedStateView>;
  /** Maintains the State Views with Eager and Scheduled versions until it is disposed of (ADR 0097). */
  keepViews(listeners: KeepViewsListeners): Disposable;
  /** Compiles the components of active versions until it is disposed of. */
  compileAhead(listeners: CompileAheadListeners): Disposable;
  health(): HealthReply;
  /** @throws DatabaseError not_found: this node is not part of a cluster; unavailable: no answer. */
  describeCluster(request: DescribeClusterRequest): Promise<ClusterDescription>;
  /**
   * Carries out an admin request; a refusal is a reply. @throws DatabaseError not_found: this node is not part of a
   * cluster
   */
  administerCluster(request: AdministerClusterRequest): Promise<AdminReply>;
  /**
   * The leader of this database, or without one that of the catalog. Transports put it into the trailers of every
   * write. Undefined when it is not known here.
   */
  leader(databaseName?: string): LeaderAddress | undefined;
  /** Nodes to relay the request to; undefined: the failure is the answer. */
  elsewhere(failure: unknown): Elsewhere | undefined;
  /** The highest revision of a database that clients of this node were shown by any node; 0 for none. */
  shown(group: GroupId): Revision;
  /** Records that another node has shown this revision to a client of this node. */
  show(group: GroupId, revision: Revision): void;
}
