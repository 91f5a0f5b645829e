/**
 * The core thread: opens log and store, runs the core over them, and carries its messages. core-thread.ts is the other
 * side. It makes no decisions.
 *
 * The file that the thread runs is in #main, which composes its parts and calls `runCore`.
 */
import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { type Address, assert, formatAddress } from '#base';
import type { KvStore } from '#kv';
import { diskUsedPercent, LogThread, openLevelStore } from '#storage';
import { databaseMachines } from '../apply/database-machines.ts';
import type { CorePorts } from '../core/core-ports.ts';
import { CoreRuntime } from '../core/core-runtime.ts';
import { MeasureGatherer } from '../core/observer.ts';
import type { CoreCounts } from '../core/standing.ts';
import { nativeRandom, wallClock } from '../native.ts';
import { FOUNDERS } from '../node.ts';
import type { NodeRegistration } from '../outcome.ts';
import type { Administered } from '../peer/administered.ts';
import type { AdminReply, AdminRequest, AskAdmin } from '../peer/administration.ts';
import type { AskBelonging, Newcomer } from '../peer/belonging.ts';
import { judgeFounding } from '../peer/founding.ts';
import { type AskToJoin, type DialledAddress, type Founder, type Joined, joinCluster } from '../peer/join.ts';
import type { OpenPeerLinks, PeerLinksOptions, PeerPort, PeerPortOptions } from '../peer/links.ts';
import { PeerMeasureGatherer } from '../peer/peer-measures.ts';
import { noPeers } from '../peer/peers.ts';
import { unobservedSnapshots } from '../peer/snapshot-observer.ts';
import { spreadOver } from '../placement/spread.ts';
import { duplicateProcess } from '../refusals.ts';
import { walIdentity } from '../store/node-rows.ts';
import { noteRemoved } from '../store/own-identity.ts';
import { unpackCommands } from './command-message.ts';
import {
  type CoreOrder,
  type FromCore,
  type JoinOrder,
  type Preparation,
  packFailure,
  type ToCore,
} from './core-thread-messages.ts';
import { openReach, type Reach } from './reach.ts';
import { packReport } from './report-message.ts';

/** Maximum delay of a deadline of the core. */
const TICK_MS = 50;

/** Interval at which counters of the links are sent to the front. */
const PEERS_TOLD_MS = 1_000;

/** Interval at which the core reports its health to the front. */
const STANDING_TOLD_MS = 1_000;

/** Parts that #cluster cannot create. */
export interface CoreParts {
  /** Called at most once, and only for a node with peer links. */
  readonly openPort: (options: PeerPortOptions) => Promise<PeerPort>;
  readonly askToJoin: AskToJoin;
  readonly askAdmin: AskAdmin;
  readonly askBelonging: AskBelonging;
}

/** Runs the core in this thread, which was started for it. */
export function runCore(parts: CoreParts): void {
  const port = parentPort;
  assert(port !== null, 'The core is started as a thread');
  const log = LogThread.start();
  let peerPort: PeerPort | undefined;
  const work = async (order: Preparation | CoreOrder): Promise<void> => {
    if (order.kind === 'open') return start(port, order, { ...parts, log, peerPort });
    if (order.kind === 'bind') {
      peerPort = await parts.openPort(order);
      post(port, { kind: 'bound', port: peerPort.port });
    } else post(port, { kind: 'joined', joined: await join(port, order, parts, peerPort) });
  };
  const begin = (order: Preparation | CoreOrder): void => {
    if (order.kind !== 'open') port.once('message', begin);
    work(order).catch((failure: unknown) => fail(port, failure));
  };
  port.once('message', begin);
}

function join(
  port: MessagePort,
  { seeds, request, waitMs, mayFound }: JoinOrder,
  { askToJoin, askBelonging }: CoreParts,
  peerPort: PeerPort | undefined,
): Promise<Joined | Founder> {
  const { storeId } = request.registration;
  const self: Newcomer = { kind: 'new', storeId, mayFound, seeds: seeds.map(formatAddress) };
  peerPort?.introduce(self);
  const ports = {
    ask: askToJoin,
    sleep: (ms: number) => delay(ms),
    monotonicMs: () => performance.now(),
    resolve: addressesOf,
    onWaiting: (why: string) => post(port, { kind: 'waiting', why }),
    ...(mayFound && { judge: () => judgeFounding(self, seeds, { ask: askBelonging, resolve: addressesOf }) }),
  };
  return joinCluster(ports, seeds, request, waitMs);
}

/** A name may resolve to several nodes, possibly including this one; each is asked. */
async function addressesOf({ host, port }: Address): Promise<readonly DialledAddress[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => ({ host, port, ip: address }));
}

async function start(
  port: MessagePort,
  order: CoreOrder,
  parts: CoreParts & { readonly log: LogThread; readonly peerPort: PeerPort | undefined },
): Promise<void> {
  const { identity, limits } = order;
  const store = await openLevelStore(order.storeDirectory, order.store);
  const wal = { identity: walIdentity(identity), segmentBytes: order.walSegmentBytes };
  const recovered = await parts.log.open(order.logDirectory, wal);
  const gatherer = new MeasureGatherer();
  const reach = await reachOthers(port, { ...parts, store }, order);
  const ports: CorePorts = {
    node: identity.node,
    founders: FOUNDERS,
    placement: spreadOver(order.copies, identity.node),
    upkeep: { copies: order.copies, replaceAfterMs: order.replaceAfterMs },
    wanted: () => undefined,
    kv: store,
    syncStore: () => store.checkpointFiles(),
    log: parts.log,
    peers: reach?.mail ?? noPeers,
    machines: databaseMachines,
    limits,
    clock: wallClock,
    monotonicMs: () => performance.now(),
    random: nativeRandom,
    observer: gatherer,
    snapshotObserver: reach?.observer ?? unobservedSnapshots,
    later: setImmediate,
    release: order.links?.release,
    diskUsedPercent: () => diskUsedPercent(order.storeDirectory),
  };
  const core = await CoreRuntime.open(ports, recovered);
  showEnds(core, port);
  showWhetherAlone(core, new Int32Array(order.alone));
  if (reach !== undefined) keep(beginReach(reach, core));
  showReports(core, port, gatherer);
  const teller = new Teller(port, core, { gatherer, peers: reach?.observer });
  const ticking = setInterval(() => {
    teller.ticks();
    core.tick();
  }, TICK_MS);
  port.on('message', (message: ToCore) => {
    teller.takes();
    if (message instanceof ArrayBuffer || message.kind === 'commands') core.send(unpackCommands(message));
    else if (message.kind === 'disk') core.reportDisk(message.level);
    else if (message.kind === 'runs') core.runs(message.digest, message.fault);
    else if (message.kind === 'announce') keep(announce(reach, message.registration));
    else if (message.kind === 'administer') keep(administer(port, reach, message));
    else keep(message.kind === 'leave' ? leave(port, core, message.withinMs) : drain());
  });
  post(port, { kind: 'opened', catalog: core.catalog, peerPort: reach?.port });

  function keep(work: Promise<void>): void {
    work.catch((failure: unknown) => fail(port, failure));
  }

  async function drain(): Promise<void> {
    reach?.announcer.close();
    await core.drain();
    clearInterval(ticking);
    teller.close();
    await reach?.close();
    await parts.log.close();
    await store.close();
    post(port, { kind: 'drained' });
    port.close();
  }
}

/** Reports when and why the process must exit, and drains that do not end it. */
function showEnds(core: CoreRuntime, port: MessagePort): void {
  core.onFailure((failure) => fail(port, failure));
  core.onToldToStop(() => post(port, { kind: 'told-to-stop' }));
  core.onDrain((note) => post(port, { kind: 'drain', note }));
}

/** Writes whether the core is alone into memory that the front reads (C32). */
function showWhetherAlone(core: CoreRuntime, shown: Int32Array): void {
  core.onCompany(() => Atomics.store(shown, 0, 0));
  Atomics.store(shown, 0, core.isAlone ? 1 : 0);
}

function showReports(core: CoreRuntime, port: MessagePort, gatherer: MeasureGatherer): void {
  core.onReport((report) => post(port, packReport(report, gatherer.take(core.levels))));
}

/** Rejects when the node learns that it was removed. */
async function beginReach(reach: OwnReach, core: CoreRuntime): Promise<void> {
  reach.begin(core);
  await reach.announcer.watch();
}

interface OwnReach extends Reach {
  readonly observer: PeerMeasureGatherer;
}

async function announce(reach: Reach | undefined, registration: NodeRegistration): Promise<void> {
  await reach?.announcer.announce(registration);
}

async function administer(
  port: MessagePort,
  reach: Reach | undefined,
  { token, order }: { readonly token: number; readonly order: AdminRequest['order'] },
): Promise<void> {
  assert(reach?.administer !== undefined, 'Only a node with a peer port is administered');
  const answer = reach.administer({ order, isPassedOn: false });
  const reply = await answer.catch((error: Error): AdminReply => ({ kind: 'later', reason: error.message }));
  post(port, { kind: 'answered', token, reply });
}

async function leave(port: MessagePort, core: CoreRuntime, withinMs: number): Promise<void> {
  await core.leave(withinMs);
  post(port, { kind: 'left' });
}

interface TellerParts {
  readonly gatherer: MeasureGatherer;
  readonly peers: PeerMeasureGatherer | undefined;
}

const NO_PEERS = { otherCluster: undefined, refusedBy: undefined, otherProcess: undefined };

/** Counts events of this thread, and reports the health of the core to the front. */
class Teller {
  readonly #telling: NodeJS.Timeout;
  #tickDelaysMs: number[] = [];
  #tickedMs: number | undefined;
  #messagesTaken = 0;

  constructor(port: MessagePort, core: CoreRuntime, { gatherer, peers }: TellerParts) {
    const tell = (): void => {
      const { otherCluster, refusedBy, otherProcess } = peers ?? NO_PEERS;
      const seen = { otherCluster, refusedBy, otherProcess };
      const lostCampaigns = gatherer.takeLostCampaigns();
      const standing = { ...core.standing, ...this.#counts(), lostCampaigns, ...seen };
      post(port, { kind: 'standing', standing });
    };
    tell();
    this.#telling = setInterval(tell, STANDING_TOLD_MS);
  }

  /** A tick starts: after its time, or when the thread is free again. */
  ticks(): void {
    const nowMs = performance.now();
    if (this.#tickedMs !== undefined) this.#tickDelaysMs.push(Math.max(0, nowMs - this.#tickedMs - TICK_MS));
    this.#tickedMs = nowMs;
  }

  takes(): void {
    this.#messagesTaken += 1;
  }

  close(): void {
    clearInterval(this.#telling);
  }

  #counts(): Omit<CoreCounts, 'lostCampaigns'> {
    const tickDelaysMs = this.#tickDelaysMs;
    this.#tickDelaysMs = [];
    return { tickDelaysMs, messagesTaken: this.#messagesTaken };
  }
}

/** Sends counters of the links to the front. Undefined: this node has no peer links. */
async function reachOthers(
  port: MessagePort,
  parts: CoreParts & { readonly store: KvStore; readonly peerPort: PeerPort | undefined },
  { identity, links: order }: Pick<CoreOrder, 'identity' | 'links'>,
): Promise<OwnReach | undefined> {
  const { peerPort } = parts;
  if (order === undefined || peerPort === undefined) return undefined;
  const observer = new PeerMeasureGatherer();
  const sleep = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });
  const noteEnd = (): Promise<void> => noteRemoved(parts.store, identity);
  const onAdministered = (administered: Administered): void => post(port, { kind: 'administered', administered });
  const onDuplicate = (words: string): void => fail(port, duplicateProcess(words));
  const openLinks = async (options: PeerLinksOptions): Promise<OpenPeerLinks> =>
    peerPort.openLinks({ ...options, onDuplicate });
  const seen = { observer, onAdministered, otherCluster: () => observer.otherCluster };
  const ports = { ...parts, ...seen, openLinks, random: nativeRandom, sleep, noteRemoved: noteEnd };
  const reach = await openReach(ports, identity, order);
  const tell = (): void => {
    const measures = observer.take();
    if (measures !== undefined) post(port, { kind: 'peers', measures });
  };
  const telling = setInterval(tell, PEERS_TOLD_MS);
  const close = async (): Promise<void> => {
    clearInterval(telling);
    await reach.close();
    tell();
  };
  return { ...reach, observer, close };
}

/** The front ends the process when it receives this. Nothing unreported is acknowledged. */
function fail(port: MessagePort, failure: unknown): void {
  post(port, { kind: 'failed', failure: packFailure(failure) });
}

function post(port: MessagePort, message: FromCore): void {
  port.postMessage(message, []);
}
