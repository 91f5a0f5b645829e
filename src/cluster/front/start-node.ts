/** Starts a node: opens its data directory, starts the core thread (which may start the log's), returns the front. */
import { DatabaseError, type GroupId, type NodeId, type Revision, toRevision } from '#base';
import { DatabaseReader } from '#database';
import { isHistoryDamage, type KvReader } from '#kv';
import type { Logger, Metrics } from '#observability';
import {
  compactionBytesMax,
  type DiskThresholds,
  isStoreDamage,
  type LevelStoreOptions,
  SEGMENT_BYTES_DEFAULT,
} from '#storage';
import type { Administered } from '../admin/administered.ts';
import type { Administers } from '../admin/administration.ts';
import { namingFiles } from '../core/crash-recovery.ts';
import { type CoreLimits, LIMITS } from '../limits.ts';
import type { CatalogMirror, Node } from '../node.ts';
import type { RegisteredNode } from '../outcome.ts';
import { PeerMetrics } from '../peer/peer-measures.ts';
import { nodeRemoved } from '../refusals.ts';
import { type DataDirectory, openDataDirectory, storeDirectoryOf } from '../store/data-directory.ts';
import type { Origin } from '../store/own-identity.ts';
import { countStart, forgetStarts, LONG_RUN_MS } from '../store/silent-ends.ts';
import { nativeRandom, nativeSha256, wallClock } from '../system-ports.ts';
import { type CoreData, CoreThread, type CoreThreadListeners } from '../thread/core-thread.ts';
import type { LinksOrder, Telemetry } from '../thread/core-thread-messages.ts';
import { CoreWatch } from './core-watch.ts';
import { type DatabaseQuota, DatabaseQuotas } from './database-quotas.ts';
import { watchDisk } from './disk-watch.ts';
import { DrainWatch } from './drain-watch.ts';
import { noteOrLog, type Remains, stopProcess } from './fatal.ts';
import { FrontNode } from './front-node.ts';
import { historyLog, logRecoveries } from './history-log.ts';
import { Joining, type JoinOptions } from './joining.ts';
import { observeCore, observeFront } from './node-metrics.ts';
import { OtherClusters } from './other-clusters.ts';
import { watchStore } from './scrub-thread.ts';
import { watchSizes } from './size-watch.ts';

const DISK_CHECK_MS = 250;
const COPIES_DEFAULT = 3;

const monotonicMs = (): number => performance.now();

export interface NodeOptions {
  /** The file that the core thread runs: it calls `runCore`. */
  readonly coreWorker: URL;
  /** `workerData` of that file. */
  readonly coreData?: CoreData | undefined;
  readonly dataDirectory: string;
  /** Name of this node for clients. */
  readonly name: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<CoreLimits>;
  readonly store?: LevelStoreOptions;
  readonly walSegmentBytes?: number;
  /** Links to other nodes; without them no node reaches this one, and nothing is loaded or opened for it. */
  readonly links?: LinksOrder;
  /** Where a new store finds its cluster. */
  readonly join?: JoinOptions;
  /** True when a new store may found a cluster: at once without other nodes, or as founding.ts describes. */
  readonly mayFound: boolean;
  readonly onWaiting?: (why: string | undefined) => void;
  /** True when the node is a learner: it votes for nothing, and has a replica of every database. */
  readonly isLearner?: boolean;
  /** Replicas of a database that asks for no number, if there are enough nodes; 3 by default. */
  readonly copies?: number;
  /** Time after which an unreachable node is replaced, if another one is free; by default never. */
  readonly replaceAfterMs?: number | undefined;
  /** Replicas of a database are placed in different zones. */
  readonly zone?: string;
  /** Free disk space below which writes, or all appends, are refused; by default shares of the disk. */
  readonly disk?: Partial<DiskThresholds>;
  /** Quotas of databases; by default none. */
  readonly quotas?: readonly DatabaseQuota[];
  /** Awaited before the peer port is bound. */
  readonly beforeListening?: () => Promise<void>;
  /** Called when the core thread starts its recovery; the caller may use the time for other work. */
  readonly onRecovering?: () => void;
  /** Receives each admin request when its outcome is known. */
  readonly onAdministered?: (administered: Administered) => void;
  /** Called once when an operator drains the node: the caller must then drain it. */
  readonly onStopRequested?: () => void;
}

/**
 * Resolves when the node has recovered and accepts requests. Rejects when it refuses to start: the directory is open in
 * another process, store and log do not belong together, or one of them is damaged. After the start, a fatal failure
 * ends the process (see fatal.ts).
 */
export async function startNode(options: NodeOptions): Promise<Node & Administers> {
  const { dataDirectory, logger, metrics, name, walSegmentBytes = SEGMENT_BYTES_DEFAULT } = options;
  const onFatal = (failure: unknown): void => stopProcess({ logger, dataDirectory }, 'core', failure);
  const peers = new PeerMetrics(metrics, logger);
  const [watch, drains] = [new CoreWatch(logger, monotonicMs), new DrainWatch(logger, monotonicMs)];
  const others = new OtherClusters(logger);
  const orders = { ...ordersHeardBy(options), onDrain: drains.note.bind(drains) };
  const listeners = { onFatal, log: logger, ...orders, onTelemetry: telemetryShownBy(metrics, peers, [watch, others]) };
  // The thread loads its modules while the directory is checked here.
  const core = CoreThread.start(options.coreWorker, listeners, options.coreData);
  const joining = new Joining(options, core);
  const open = async (): Promise<DataDirectory> => {
    if (options.links !== undefined) await options.beforeListening?.();
    await joining.bind();
    return openDirectory(options, walSegmentBytes, joining.origin);
  };
  const abandon = async (failure: unknown): Promise<never> => {
    await core.abandon();
    throw failure;
  };
  const { guard, store, identity, clearSuspicion, ...places } = await open().catch(abandon);
  const limits = { ...LIMITS, ...options.limits };
  const { copies = COPIES_DEFAULT, replaceAfterMs, store: sizesOfStore = {} } = options;
  const kept = { copies, replaceAfterMs, store: sizesOfStore };
  const parts = { ...places, identity, limits, walSegmentBytes, ...kept, links: joining.links };
  const opening = core.open(parts);
  options.onRecovering?.();
  const leave = async (failure: unknown): Promise<never> => {
    await core.abandon();
    await store.close();
    if (isStoreDamage(failure) || isHistoryDamage(failure)) noteOrLog({ logger, dataDirectory }, failure);
    throw namingFiles(failure, places);
  };
  const { peerPort, ...opened } = await opening.catch(leave);
  clearSuspicion();
  const fault = faultIn(opened.catalog.nodes, identity.node, joining.links !== undefined);
  if (fault !== undefined) await leave(fault);
  const stopLooking = lookAgain(watchDisk({ guard, link: core, logger, metrics }), { logger, dataDirectory });
  const scrub = watchStore({ ...places, logger, metrics, onDamaged: (group) => core.damaged(group) });
  const sizes = watchSizes({ ...places, store, logger, metrics });
  const quotas = new DatabaseQuotas({ quotas: options.quotas ?? [], store, logger, metrics });
  const front = new FrontNode({
    link: core,
    reader: store,
    identity,
    name,
    ...opened,
    ...(peerPort !== undefined && joining.reachable(identity.storeId, peerPort)),
    disk: () => guard.level,
    core: () => watch.health,
    isDraining: () => drains.isDraining,
    refusal: () => watch.refusal ?? others.refusal(identity.node, front.catalog),
    storedRevision: (group) => storedRevision(store, group),
    overQuota: quotas.refusalOf,
    schedule: setImmediate,
    monotonicMs,
    limits,
    observer: observeFront(metrics),
    onHistory: historyLog(logger),
    close: async () => {
      stopLooking();
      await Promise.all([scrub.close(), sizes.close(), quotas.close()]);
      await store.close();
    },
  });
  quotas.watch(front.catalog);
  logRecoveries(front, logger);
  forgetRemoved(front.catalog, peers);
  return front;
}

/**
 * Looks at the disk, whose failure ends the process, and notes a long run (silent-ends.ts). Returns a function that
 * ends both in order.
 */
function lookAgain(look: () => void, remains: Remains): () => void {
  const settling = setTimeout(() => forgetStarts(remains.dataDirectory), LONG_RUN_MS).unref();
  const looking = setInterval(() => {
    try {
      look();
    } catch (failure) {
      stopProcess(remains, 'front', failure);
    }
  }, DISK_CHECK_MS);
  return () => {
    clearInterval(looking);
    clearTimeout(settling);
    forgetStarts(remains.dataDirectory);
  };
}

function ordersHeardBy(options: NodeOptions): Pick<CoreThreadListeners, 'onStopRequested' | 'onAdministered'> {
  return {
    onStopRequested: () => options.onStopRequested?.(),
    onAdministered: (administered) => options.onAdministered?.(administered),
  };
}

function telemetryShownBy(
  metrics: Metrics,
  peers: PeerMetrics,
  watches: readonly { look(telemetry: Telemetry): void }[],
): CoreThreadListeners['onTelemetry'] {
  const show = observeCore(metrics);
  return (telemetry, messagesSent) => {
    show(telemetry, messagesSent);
    peers.show(telemetry.links);
    for (const watch of watches) watch.look(telemetry);
  };
}

function forgetRemoved(catalog: CatalogMirror, peers: PeerMetrics): void {
  const look = ({ node, state }: RegisteredNode): void => {
    if (state === 'removed') peers.forget(node);
  };
  for (const node of catalog.nodes()) look(node);
  catalog.onChange((change) => {
    if (change.kind === 'registered') look(change.node);
  });
}

/** Reason why the node cannot be the one in the catalog. */
function faultIn(nodes: readonly RegisteredNode[], self: NodeId, hasLinks: boolean): DatabaseError | undefined {
  // The founder of a cluster is node 1, and may be alone in it; every other node has joined.
  if (!hasLinks && (self > 1 || nodes.length > 1)) return peerPortMissing();
  return nodes.some(({ node, state }) => node === self && state === 'removed') ? nodeRemoved(self) : undefined;
}

function peerPortMissing(): DatabaseError {
  const message = 'This node belongs to a cluster, and the others could not reach it; set --peer-port';
  return new DatabaseError('invalid_argument', message, { details: { reason: 'PeerPortMissing' } });
}

function openDirectory(options: NodeOptions, segmentBytes: number, origin: Origin): Promise<DataDirectory> {
  const { dataDirectory, logger, metrics } = options;
  const alarm = metrics.gauge('cairn_corruption_alarm', {});
  countStart(dataDirectory, storeDirectoryOf(dataDirectory));
  return openDataDirectory(dataDirectory, {
    store: options.store ?? {},
    disk: {
      thresholds: options.disk ?? {},
      needs: { segmentBytes, compactionBytes: compactionBytesMax(options.store) },
    },
    nowMs: wallClock.nowMs(),
    random: nativeRandom,
    onSuspicion: (isSuspect) => alarm.set(isSuspect ? 1 : 0),
    onRowsRemoved: (fault) => logger.error('rows-removed', { error: new Error(`LevelDB is damaged: ${fault}`) }),
    origin,
    ...(options.isLearner !== undefined && { isLearner: options.isLearner }),
  });
}

function storedRevision(kv: KvReader, group: GroupId): Revision {
  const reader = new DatabaseReader({ kv, group, sha256: nativeSha256 });
  try {
    return reader.applied()?.revision ?? toRevision(0);
  } catch {
    return toRevision(0);
  }
}
