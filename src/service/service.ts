/** Binds every operation to a node. */
import type { Clock, Random } from '#base';
import type { Node } from '#cluster';
import type { Metrics } from '#observability';
import { awaitDatabase } from './await-database.ts';
import { decideCommand } from './commands/decide-command.ts';
import { executeCommand } from './commands/execute-command.ts';
import type { OpenComponents } from './components/components.ts';
import { openStateView } from './components/open-state-view.ts';
import type { ServiceContext } from './context.ts';
import { createDatabase } from './create-database.ts';
import { databaseAt } from './database-at.ts';
import { databaseAtTimestamp } from './database-at-timestamp.ts';
import { deleteDatabase } from './delete-database.ts';
import { elsewhere } from './elsewhere.ts';
import { fetchTransaction } from './fetch-transaction.ts';
import { health } from './health.ts';
import { leaderOf } from './instance.ts';
import { SERVICE_LIMITS, type ServiceLimits } from './limits.ts';
import { listDatabases } from './list-databases.ts';
import { nameListings } from './list-names.ts';
import { keepViews } from './maintenance/keep-views.ts';
import { ServiceMeters } from './meters.ts';
import { OpenStreams } from './open-streams.ts';
import type { ListAt } from './operations.ts';
import { findVersion } from './publishing/find-version.ts';
import { listVersions } from './publishing/list-versions.ts';
import { publishComponent } from './publishing/publish-component.ts';
import { deleteVersions, expireSnapshots, setVersionStatus } from './publishing/version-orders.ts';
import { queryEvents } from './query-events.ts';
import { RandomPool } from './random-pool.ts';
import { type Digests, Reads } from './reads.ts';
import { scanLog, scanLogBatches } from './scan-log.ts';
import type { Service } from './service-interface.ts';
import { singleEvent } from './single-event.ts';
import { subscribe } from './subscribe.ts';
import { TailFeeds } from './tail-feeds.ts';
import { systemTimers, type Timers } from './timers.ts';
import { transact } from './transact.ts';

export interface ServiceParts {
  readonly node: Node;
  readonly clock: Clock;
  readonly random: Random;
  readonly digests: Digests;
  readonly metrics: Metrics;
  /** The release that the node runs, for whoever asks about its health. */
  readonly release: string;
  readonly limits?: Partial<ServiceLimits>;
  /** Asks another node what it holds; absent: none can be asked. */
  readonly listAt?: ListAt;
  /** Absent: this node runs no components. */
  readonly components?: OpenComponents | undefined;
  /** Real time unless a test decides. */
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
    components: parts.components,
    release: parts.release,
    startedAtMs: timers.monotonicMs(),
  };
  return {
    createDatabase: (request) => createDatabase(context, request),
    deleteDatabase: (request) => deleteDatabase(context, request),
    listDatabases: (request) => listDatabases(context, request),
    databaseAt: (request) => databaseAt(context, request),
    databaseAtTimestamp: (request) => databaseAtTimestamp(context, request),
    awaitDatabase: (request) => awaitDatabase(context, request),
    transact: (request) => transact(context, request),
    fetchTransaction: (request) => fetchTransaction(context, request),
    queryEvents: (request) => queryEvents(context, request),
    scanLog: (request) => scanLog(context, request),
    scanLogBatches: (request) => scanLogBatches(context, request),
    subscribe: (request) => subscribe(context, request),
    listStreams: (request) => nameListings.streams(context, request),
    listSubjects: (request) => nameListings.subjects(context, request),
    listEventTypes: (request) => nameListings.eventTypes(context, request),
    singleEvent: (request) => singleEvent(context, request),
    publishComponent: (request) => publishComponent(context, request),
    setVersionStatus: (request) => setVersionStatus(context, request),
    deleteVersions: (request) => deleteVersions(context, request),
    expireSnapshots: (request) => expireSnapshots(context, request),
    findVersion: (request) => findVersion(context, request),
    listVersions: (request) => listVersions(context, request),
    executeCommand: (request) => executeCommand(context, request),
    decideCommand: (request) => decideCommand(context, request),
    openStateView: (request) => openStateView(context, request),
    keepViews: (listeners) => keepViews(context, listeners),
    health: () => health(context),
    leader: (databaseName) => leaderOf(parts.node, databaseName),
    elsewhere: (failure) => elsewhere(parts.node, failure),
    shown: (group) => parts.node.answered(group),
    show: (group, revision) => parts.node.show(group, revision),
  };
}
