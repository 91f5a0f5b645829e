/**
 * The thread of the core: opens log and store, runs the core over them, and carries its messages. See core-thread.ts
 * for the other side. Nothing is decided here.
 *
 * Who starts the thread composes it: the file that it runs is of #main, and calls `runCore`.
 */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { assert } from '#base';
import { LogThread, openLevelStore, type WalIdentity } from '#storage';
import { unpackCommands } from './command-message.ts';
import { type CorePorts, CoreRuntime } from './core-runtime.ts';
import { type CoreOrder, type FromCore, type LinksOrder, packFailure, type ToCore } from './core-thread-messages.ts';
import { databaseMachines } from './database-machines.ts';
import { nativeCrc32, nativeRandom, wallClock } from './native.ts';
import type { NodeIdentity } from './node.ts';
import { uuidBytes } from './node-rows.ts';
import { MeasureGatherer } from './observer.ts';
import type { OpenPeerLinks, PeerLinksOptions } from './peer/links.ts';
import { PeerCodec } from './peer/peer-codec.ts';
import { PeerMail, type PeerReceiver } from './peer/peer-mail.ts';
import { PeerMeasureGatherer } from './peer/peer-measures.ts';
import { toStoreId } from './peer/place.ts';
import { noPeers, type Peers } from './peers.ts';
import { clusterOf } from './placement.ts';
import { packReport } from './report-message.ts';

/** How late a deadline of the core may be noticed. */
const TICK_MS = 50;

/** How often what links have counted goes to the front. */
const PEERS_TOLD_MS = 1_000;

/** What #cluster does not know how to make. */
export interface CoreParts {
  /** Called at most once, and only when this node is to reach others. */
  readonly openLinks: (options: PeerLinksOptions) => Promise<OpenPeerLinks>;
}

/** Runs the core in this thread, which was started for it. */
export function runCore(parts: CoreParts): void {
  const port = parentPort;
  assert(port !== null, 'The core is started as a thread');
  const log = LogThread.start();
  port.once('message', (order: CoreOrder) => {
    start(port, order, { ...parts, log }).catch((failure: unknown) => fail(port, failure));
  });
}

async function start(
  port: MessagePort,
  order: CoreOrder,
  parts: CoreParts & { readonly log: LogThread },
): Promise<void> {
  const { identity, limits, walSegmentBytes } = order;
  const store = await openLevelStore(order.storeDirectory, order.store);
  const { log } = parts;
  const recovered = await log.open(order.logDirectory, {
    identity: identityBytes(identity),
    segmentBytes: walSegmentBytes,
  });
  const gatherer = new MeasureGatherer();
  const reach = order.links === undefined ? undefined : await openReach(port, parts, identity, order.links);
  const ports: CorePorts = {
    ...clusterOf([identity.node], identity.node),
    kv: store,
    syncStore: () => store.checkpointFiles(),
    log,
    peers: reach?.mail ?? noPeers,
    machines: databaseMachines,
    limits,
    clock: wallClock,
    monotonicMs: () => performance.now(),
    random: nativeRandom,
    observer: gatherer,
    later: setImmediate,
  };
  const core = await CoreRuntime.open(ports, recovered);
  core.onFailure((failure) => fail(port, failure));
  reach?.begin(core);
  core.onReport((report) => {
    post(port, packReport(report, gatherer.take(core.levels)));
  });
  const ticking = setInterval(() => core.tick(), TICK_MS);
  port.on('message', (message: ToCore) => {
    if (message instanceof ArrayBuffer || message.kind === 'commands') core.send(unpackCommands(message));
    else if (message.kind === 'disk') core.reportDisk(message.level);
    else drain().catch((failure: unknown) => fail(port, failure));
  });
  post(port, { kind: 'opened', catalog: core.catalog, peerPort: reach?.port });

  async function drain(): Promise<void> {
    await core.drain();
    clearInterval(ticking);
    await reach?.close();
    await log.close();
    await store.close();
    post(port, { kind: 'drained' });
    port.close();
  }
}

/** The way to other nodes. */
interface Reach {
  readonly mail: Peers;
  readonly port: number;
  /** Hears and dials from now on. */
  begin(receiver: PeerReceiver): void;
  close(): Promise<void>;
}

async function openReach(
  port: MessagePort,
  { openLinks }: CoreParts,
  identity: NodeIdentity,
  order: LinksOrder,
): Promise<Reach> {
  const { clusterId, node, storeId } = identity;
  const self = { node, store: toStoreId(storeId) };
  const observer = new PeerMeasureGatherer();
  const links = await openLinks({ clusterId, self, host: order.host, port: order.port, observer });
  const codec = new PeerCodec({ clusterId, self, crc32: nativeCrc32, random: nativeRandom });
  const mail = new PeerMail({ codec, links, observer });
  const tell = (): void => {
    const measures = observer.take();
    if (measures !== undefined) post(port, { kind: 'peers', measures });
  };
  const telling = setInterval(tell, PEERS_TOLD_MS);
  return {
    mail,
    port: links.port,
    begin: (receiver) => {
      mail.open(receiver);
      mail.setPeers(order.peers);
    },
    close: async () => {
      clearInterval(telling);
      await mail.close();
      tell();
    },
  };
}

function identityBytes({ clusterId, storeId }: NodeIdentity): WalIdentity {
  return { clusterId: uuidBytes(clusterId), storeId: uuidBytes(storeId) };
}

/** The front ends the process when it hears of it. Nothing that was not reported is acknowledged. */
function fail(port: MessagePort, failure: unknown): void {
  post(port, { kind: 'failed', failure: packFailure(failure) });
}

function post(port: MessagePort, message: FromCore): void {
  port.postMessage(message, []);
}
