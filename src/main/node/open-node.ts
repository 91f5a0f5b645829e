/** Opens the node without its servers, with the values of the settings. */
import { type Administered, type Administers, type Node, startNode } from '#cluster';
import type { Logger, Metrics } from '#observability';
import type { AuditRecord } from '#service';
import { recordOf } from '../access/audit-trail.ts';
import { advertisedHost } from '../ports/addresses.ts';
import type { ConnectionShares } from '../ports/connection-bound.ts';
import { untilFree } from '../ports/free-port.ts';
import { memoryShare } from '../process/memory-limit.ts';
import { RELEASE } from '../process/release.ts';
import type { Config } from '../settings/settings.ts';
import type { NodePeerTls } from '../tls/peer-tls.ts';
import { isOfRemovedNode, noteWhetherRemoved } from './removed-node.ts';

/** Entry point of the core thread: next to this file, with the same extension (`.ts` from source, `.js` when built). */
const CORE_FILE = import.meta.url.endsWith('.ts') ? './core-worker.ts' : './core-worker.js';
export const CORE_WORKER: URL = new URL(CORE_FILE, import.meta.url);

const AUTO = 'auto';
export interface NodeParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly shares: ConnectionShares | undefined;
  readonly peerTls: NodePeerTls | undefined;
  /** Records an administrative action. */
  readonly note: (record: AuditRecord) => void;
  readonly onStopRequested: () => void;
  /** Called when the data directory is open and the core thread starts its recovery. */
  readonly onRecovering: () => void;
  /** Receives the reason why a node without a cluster waits; undefined when it no longer waits. */
  readonly onWaiting: (why: string | undefined) => void;
}

/** Never resolves for a removed node. @throws DatabaseError when the node refuses to start. */
export async function openNode(parts: NodeParts): Promise<Node & Administers> {
  const { dataDir } = parts.config;
  try {
    const node = await start(parts);
    noteWhetherRemoved(dataDir, false);
    return node;
  } catch (failure) {
    if (!isOfRemovedNode(failure)) throw failure;
    noteWhetherRemoved(dataDir, true);
    parts.logger.error('node-removed', { message: failure.message, advice: REJOIN });
    parts.onWaiting(`${failure.message}. ${REJOIN}`);
    return new Promise(() => undefined);
  }
}

const REJOIN = 'Run cairn rejoin to set its data directory aside, and restart it, to have it join as a new node';

function start(parts: NodeParts): Promise<Node & Administers> {
  const { config, logger, metrics, note, shares, peerTls, onStopRequested, onWaiting, onRecovering } = parts;
  const { peerPort } = config;
  const peerHost = config.peerHost === AUTO ? config.host : config.peerHost;
  return startNode({
    coreWorker: CORE_WORKER,
    coreData: peerTls && { value: peerTls.forCore, transfers: [peerTls.forCore.replaced] },
    dataDirectory: config.dataDir,
    name: config.nodeName,
    logger,
    metrics,
    onRecovering: () => {
      onRecovering();
      // Starts loading the largest part of the program. Failures are reported to the code that awaits it later.
      import('#transport').catch(() => undefined);
    },
    onAdministered: (administered) => {
      note(recordOf(administered));
      logJoin(administered, logger);
    },
    onStopRequested,
    ...(peerPort !== 'off' && {
      beforeListening: () => untilFree({ host: peerHost, port: peerPort }, logger),
      links: {
        host: peerHost,
        port: peerPort,
        advertisedHost: advertisedHost(config),
        peers: [],
        release: RELEASE,
        connectionsMax: shares?.peers,
      },
    }),
    ...(config.join.length > 0 && {
      join: { seeds: config.join, waitMs: config.joinWaitMs === 'off' ? undefined : config.joinWaitMs },
    }),
    mayFound: config.bootstrap === 'alone',
    onWaiting,
    isLearner: config.learner,
    zone: config.zone,
    copies: config.copies,
    replaceAfterMs: config.replaceAfterMs === 'off' ? undefined : config.replaceAfterMs,
    limits: { memoryBytesMax: memoryShare('replicationMemoryBytes', config.replicationMemoryBytes) },
    walSegmentBytes: config.walSegmentBytes,
    store: {
      writeBufferBytes: memoryShare('storeWriteBufferBytes', config.storeWriteBufferBytes),
      mappedBytes: config.storeMappedBytes,
    },
    quotas: config.databaseBytesMax,
    disk: {
      ...(config.diskSoftBytes !== 'auto' && { softBytes: config.diskSoftBytes }),
      ...(config.diskHardBytes !== 'auto' && { hardBytes: config.diskHardBytes }),
    },
  });
}

/** Logs joins also without an audit log. */
function logJoin({ order, asker, refusal }: Administered, logger: Logger): void {
  if (order.kind !== 'join') return;
  const fields = { peer: order.name, store: order.storeId, at: order.at, from: asker.address };
  if (refusal === undefined) logger.info('join-accepted', fields);
  else logger.warn('join-refused', { ...fields, message: refusal.reason });
}
