/** Opens the node beneath the interfaces, with what the settings say of it. */
import { hostname } from 'node:os';
import { type Administered, type Administers, type Node, startNode } from '#cluster';
import type { Logger, Metrics } from '#observability';
import type { AuditRecord } from '#service';
import { recordOf } from './administered.ts';
import type { ConnectionShares } from './connection-bound.ts';
import { CORE_WORKER } from './core-worker-url.ts';
import { untilFree } from './free-port.ts';
import { memoryShare } from './memory-limit.ts';
import type { NodePeerTls } from './peer-tls.ts';
import { RELEASE } from './release.ts';
import { isOfRemovedNode, noteWhetherRemoved } from './removed-node.ts';
import type { Config } from './settings.ts';

const AUTO = 'auto';
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** What other nodes and clients dial. */
export function advertisedHost({ advertiseHost, host }: Config): string {
  if (advertiseHost !== AUTO) return advertiseHost;
  return EVERY_ADDRESS.has(host) ? hostname() : host;
}

export interface NodeParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly shares: ConnectionShares | undefined;
  readonly peerTls: NodePeerTls | undefined;
  /** Notes an act of administration. */
  readonly note: (record: AuditRecord) => void;
  readonly onToldToStop: () => void;
  /** Called when the data directory is open, and the thread of the core begins to recover. */
  readonly onRecovering: () => void;
  /** Receives what a node without a cluster waits for; undefined: for nothing any more. */
  readonly onWaiting: (why: string | undefined) => void;
}

/** Does not resolve for a node that was removed. @throws DatabaseError when the node refuses to start. */
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
  const { config, logger, metrics, note, shares, peerTls, onToldToStop, onWaiting, onRecovering } = parts;
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
      loadTransport();
    },
    onAdministered: (administered) => {
      note(recordOf(administered));
      logJoin(administered, logger);
    },
    onToldToStop,
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
    zone: config.zone,
    copies: config.copies,
    replaceAfterMs: config.replaceAfterMs === 'off' ? undefined : config.replaceAfterMs,
    limits: { memoryBytesMax: memoryShare('replicationMemoryBytes', config.replicationMemoryBytes) },
    walSegmentBytes: config.walSegmentBytes,
    store: {
      cacheBytes: config.storeCacheBytes,
      writeBufferBytes: memoryShare('storeWriteBufferBytes', config.storeWriteBufferBytes),
      mappedBytes: config.storeMappedBytes,
    },
    quotas: config.databaseBytesMax,
    disk: {
      ...unlessAuto('softBytes', config.diskSoftBytes),
      ...unlessAuto('hardBytes', config.diskHardBytes),
    },
  });
}

/** Also where there is no audit log. */
function logJoin({ order, asker, refusal }: Administered, logger: Logger): void {
  if (order.kind !== 'join') return;
  const fields = { peer: order.name, store: order.storeId, at: order.at, from: asker.address };
  if (refusal === undefined) logger.info('join-accepted', fields);
  else logger.warn('join-refused', { ...fields, message: refusal.reason });
}

/** Most of what a start loads. Whoever needs it awaits it, and hears of a failure. */
function loadTransport(): void {
  import('#transport').catch(() => undefined);
}

function unlessAuto<K extends string>(name: K, value: number | 'auto'): { readonly [N in K]?: number } {
  const given: { [N in K]?: number } = {};
  if (value !== 'auto') given[name] = value;
  return given;
}
