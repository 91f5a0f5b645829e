/** Binds every operation to a node, for transports. */
import type { Clock, GroupId, LeaderAddress, Random, Revision } from '#base';
import type { Administers, Node } from '#cluster';
import type { Metrics } from '#observability';
import { findApiKey, issueApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../access/api-keys.ts';
import { findToken, issueToken, listTokens, revokeToken } from '../access/tokens.ts';
import { administerCluster, describeCluster } from '../administer-cluster.ts';
import { awaitDatabase } from '../await-database.ts';
import { decideCommand } from '../commands/decide-command.ts';
import { executeCommand } from '../commands/execute-command.ts';
import { openStateView } from '../components/open-state-view.ts';
import type { OpenComponents, ServiceContext } from '../context.ts';
import { createDatabase } from '../create-database.ts';
import { databaseAt, databaseAtTimestamp } from '../database-at.ts';
import { deleteDatabase } from '../delete-database.ts';
import { elsewhere } from '../elsewhere.ts';
import { fetchTransaction } from '../fetch-transaction.ts';
import { health } from '../health.ts';
import { leaderOf } from '../instance.ts';
import { SERVICE_LIMITS, type ServiceLimits } from '../limits.ts';
import { listDatabases } from '../list-databases.ts';
import { type NameListings, nameListings } from '../list-names.ts';
import { compileAhead } from '../maintenance/compile-ahead.ts';
import { keepViews } from '../maintenance/keep-views.ts';
import { ServiceMeters } from '../meters.ts';
import { OpenStreams } from '../open-streams.ts';
import type { Elsewhere, HealthReply, ListAt } from '../operations.ts';
import { publishComponent } from '../publishing/publish-component.ts';
import { deleteVersions, expireSnapshots, setVersionStatus } from '../publishing/version-orders.ts';
import { findVersion, listVersions } from '../publishing/version-reads.ts';
import { queryEvents } from '../query-events.ts';
import { RandomPool } from '../random-pool.ts';
import { type Digests, Reads } from '../reads.ts';
import { scanLog, scanLogBatches } from '../scan-log.ts';
import { singleEvent } from '../single-event.ts';
import { subscribe } from '../subscribe.ts';
import { TailFeeds } from '../tail-feeds.ts';
import { systemTimers, type Timers } from '../timers.ts';
import { traced } from '../tracing.ts';
import { transact } from '../transact.ts';

/** An operation without its context parameter. */
type Bound<Run> = Run extends (context: ServiceContext, request: infer Request) => infer Reply
  ? (request: Request) => Reply
  : never;

export interface Service {
  readonly createDatabase: Bound<typeof createDatabase>;
  readonly deleteDatabase: Bound<typeof deleteDatabase>;
  readonly listDatabases: Bound<typeof listDatabases>;
  readonly databaseAt: Bound<typeof databaseAt>;
  readonly databaseAtTimestamp: Bound<typeof databaseAtTimestamp>;
  readonly awaitDatabase: Bound<typeof awaitDatabase>;
  readonly transact: Bound<typeof transact>;
  readonly fetchTransaction: Bound<typeof fetchTransaction>;
  readonly queryEvents: Bound<typeof queryEvents>;
  readonly scanLog: Bound<typeof scanLog>;
  readonly scanLogBatches: Bound<typeof scanLogBatches>;
  readonly subscribe: Bound<typeof subscribe>;
  readonly listStreams: Bound<NameListings['streams']>;
  readonly listSubjects: Bound<NameListings['subjects']>;
  readonly listEventTypes: Bound<NameListings['eventTypes']>;
  readonly singleEvent: Bound<typeof singleEvent>;
  readonly publishComponent: Bound<typeof publishComponent>;
  readonly setVersionStatus: Bound<typeof setVersionStatus>;
  readonly deleteVersions: Bound<typeof deleteVersions>;
  readonly expireSnapshots: Bound<typeof expireSnapshots>;
  readonly findVersion: Bound<typeof findVersion>;
  readonly listVersions: Bound<typeof listVersions>;
  readonly executeCommand: Bound<typeof executeCommand>;
  readonly decideCommand: Bound<typeof decideCommand>;
  readonly issueApiKey: Bound<typeof issueApiKey>;
  readonly listApiKeys: Bound<typeof listApiKeys>;
  readonly findApiKey: Bound<typeof findApiKey>;
  /** Issues a new secret for the key; the previous one stays valid for a while. */
  readonly rotateApiKey: Bound<typeof rotateApiKey>;
  readonly revokeApiKey: Bound<typeof revokeApiKey>;
  /** Rejects also when this issuer, or the cluster, has the maximum number of tokens. */
  readonly issueToken: Bound<typeof issueToken>;
  readonly listTokens: Bound<typeof listTokens>;
  readonly findToken: Bound<typeof findToken>;
  readonly revokeToken: Bound<typeof revokeToken>;
  readonly openStateView: Bound<typeof openStateView>;
  /** Maintains the State Views with Eager and Scheduled versions until it is disposed of (ADR 0097). */
  readonly keepViews: Bound<typeof keepViews>;
  /** Compiles the components of active versions until it is disposed of. */
  readonly compileAhead: Bound<typeof compileAhead>;
  health(): HealthReply;
  /** @throws DatabaseError not_found: this node is not part of a cluster; unavailable: no answer. */
  readonly describeCluster: Bound<typeof describeCluster>;
  /**
   * Carries out an admin request; a refusal is a reply. @throws DatabaseError not_found: this node is not part of a
   * cluster
   */
  readonly administerCluster: Bound<typeof administerCluster>;
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

export interface ServiceParts {
  readonly node: Node;
  readonly clock: Clock;
  readonly random: Random;
  readonly digests: Digests;
  readonly metrics: Metrics;
  /** The release of the node, for health reports. */
  readonly release: string;
  readonly limits?: Partial<ServiceLimits>;
  /** Asks another node for its databases; absent: none can be asked. */
  readonly listAt?: ListAt;
  /** Absent when there is no cluster to administer. */
  readonly administer?: Administers['administer'];
  /** Absent when this node runs no components. */
  readonly components?: OpenComponents | undefined;
  /** Real time by default; tests replace it. */
  readonly timers?: Timers;
}

export function createService(parts: ServiceParts): Service {
  const { timers = systemTimers } = parts;
  const limits = { ...SERVICE_LIMITS, ...parts.limits };
  const context: ServiceContext = {
    node: parts.node,
    reads: new Reads(parts.node, parts.digests),
    clock: parts.clock,
    random: new RandomPool(parts.random),
    timers,
    limits,
    streams: new OpenStreams('streaming reads', limits.streamsMax),
    openTails: new OpenStreams('live tails', limits.tailsMax),
    tails: new TailFeeds(limits),
    meters: new ServiceMeters(parts.metrics),
    listAt: parts.listAt,
    administer: parts.administer,
    components: parts.components,
    release: parts.release,
    startedAtMs: timers.monotonicMs(),
  };
  return {
    createDatabase: traced('create_database', context, createDatabase),
    deleteDatabase: traced('delete_database', context, deleteDatabase),
    listDatabases: traced('list_databases', context, listDatabases),
    databaseAt: traced('database_at', context, databaseAt),
    databaseAtTimestamp: traced('database_at_timestamp', context, databaseAtTimestamp),
    awaitDatabase: traced('await_database', context, awaitDatabase),
    transact: traced('transact', context, transact),
    fetchTransaction: traced('fetch_transaction', context, fetchTransaction),
    queryEvents: traced('query_events', context, queryEvents),
    scanLog: traced('scan_log', context, scanLog),
    scanLogBatches: traced('scan_log_batches', context, scanLogBatches),
    subscribe: traced('subscribe', context, subscribe),
    listStreams: traced('list_streams', context, nameListings.streams),
    listSubjects: traced('list_subjects', context, nameListings.subjects),
    listEventTypes: traced('list_event_types', context, nameListings.eventTypes),
    singleEvent: traced('single_event', context, singleEvent),
    publishComponent: traced('publish_component', context, publishComponent),
    setVersionStatus: traced('set_version_status', context, setVersionStatus),
    deleteVersions: traced('delete_versions', context, deleteVersions),
    expireSnapshots: traced('expire_snapshots', context, expireSnapshots),
    findVersion: traced('find_version', context, findVersion),
    listVersions: traced('list_versions', context, listVersions),
    executeCommand: traced('execute_command', context, executeCommand),
    decideCommand: traced('decide_command', context, decideCommand),
    issueApiKey: traced('issue_api_key', context, issueApiKey),
    listApiKeys: traced('list_api_keys', context, listApiKeys),
    findApiKey: traced('find_api_key', context, findApiKey),
    rotateApiKey: traced('rotate_api_key', context, rotateApiKey),
    revokeApiKey: traced('revoke_api_key', context, revokeApiKey),
    issueToken: traced('issue_token', context, issueToken),
    listTokens: traced('list_tokens', context, listTokens),
    findToken: traced('find_token', context, findToken),
    revokeToken: traced('revoke_token', context, revokeToken),
    openStateView: traced('open_state_view', context, openStateView),
    keepViews: (listeners) => keepViews(context, listeners),
    compileAhead: (listeners) => compileAhead(context, listeners),
    health: () => health(context),
    describeCluster: traced('describe_cluster', context, describeCluster),
    administerCluster: traced('administer_cluster', context, administerCluster),
    leader: (databaseName) => leaderOf(parts.node, databaseName),
    elsewhere: (failure) => elsewhere(parts.node, failure),
    shown: (group) => parts.node.answered(group),
    show: (group, revision) => parts.node.show(group, revision),
  };
}
