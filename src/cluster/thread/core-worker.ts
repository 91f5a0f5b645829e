/**
 * The core thread: opens log and store, runs the core over them, and carries its messages. core-thread.ts is the other
 * side. It makes no decisions.
 *
 * The file that the thread runs is in #main, which composes its parts and calls `runCore`.
 */
import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { type Address, assert, type ErrorLog, formatAddress } from '#base';
import type { KvStore } from '#kv';
import {
  DirectLog,
  diskUsedPercent,
  Ledger,
  LogThread,
  type LogWriter,
  openLevelStore,
  type RecoveredLog,
} from '#storage';
import type { Administered } from '../admin/administered.ts';
import type { AdminReply, AskAdmin } from '../admin/administration.ts';
import type { CorePorts } from '../core/core-ports.ts';
import { CoreRuntime } from '../core/core-runtime.ts';
import { CoreCounter } from '../core/observer.ts';
import { databaseMachines } from '../database-machines.ts';
import { FOUNDERS } from '../node.ts';
import type { AskBelonging, Newcomer } from '../peer/belonging.ts';
import { judgeFounding } from '../peer/founding.ts';
import { type AskToJoin, type DialledAddress, type Founder, type Joined, joinCluster } from '../peer/join.ts';
import { PeerMeasureGatherer } from '../peer/peer-measures.ts';
import { noPeers } from '../peer/peers.ts';
import { spreadOver } from '../placement/spread.ts';
import { duplicateProcess } from '../refusals.ts';
import { type LedgerStore, ledgerStore } from '../store/ledger-store.ts';
import { walIdentity } from '../store/node-rows.ts';
import { noteRemoved } from '../store/own-identity.ts';
import { nativeRandom, wallClock } from '../system-ports.ts';
import { unpackCommands } from './command-message.ts';
import {
  type Call,
  type CoreCalls,
  type CoreOrder,
  type FromCore,
  type JoinOrder,
  type Opened,
  packFailure,
  type Telemetry,
  type ToCore,
} from './core-thread-messages.ts';
import type { OpenPeerLinks, PeerLinksOptions, PeerPort, PeerPortOptions } from './peer-port.ts';
import { openReach, type Reach } from './reach.ts';
import { packReport } from './report-message.ts';

/** Maximum delay of a deadline of the core. */
const TICK_MS = 50;

const TELEMETRY_MS = 1_000;

/** Parts that #cluster cannot create. */
export interface CoreParts {
  /** Called at most once, and only for a node with peer links. */
  readonly openPort: (options: PeerPortOptions, logger: ErrorLog) => Promise<PeerPort>;
  readonly askToJoin: AskToJoin;
  readonly askAdmin: AskAdmin;
  readonly askBelonging: AskBelonging;
}

type Handlers = {
  readonly [Name in keyof CoreCalls]: (argument: CoreCalls[Name]['argument']) => Promise<CoreCalls[Name]['answer']>;
};

/** An open core in this thread. */
interface OpenCore extends Pick<Handlers, 'administer' | 'leave' | 'drain'> {
  readonly opened: Opened;
  take(message: Exclude<ToCore, Call>): void;
  /** A message has arrived. */
  count(): void;
}

/** Runs the core in this thread, which was started for it. */
export function runCore(parts: CoreParts): void {
  const port = parentPort;
  assert(port !== null, 'The core is started as a thread');
  let logThread: LogThread | undefined;
  let peerPort: PeerPort | undefined;
  let core: OpenCore | undefined;
  const open = (): OpenCore => {
    assert(core !== undefined, 'Only an open core gets requests');
    return core;
  };
  const handlers: Handlers = {
    bind: async (options) => {
      logThread = LogThread.start();
      peerPort = await parts.openPort(options, loggerAt(port));
      return peerPort.port;
    },
    join: (order) => join(port, order, parts, peerPort),
    open: async (order) => {
      core = await openCore(port, order, { ...parts, logThread, peerPort });
      return core.opened;
    },
    administer: (order) => open().administer(order),
    leave: (withinMs) => open().leave(withinMs),
    drain: () => open().drain(undefined),
  };
  const answer = async (call: Call): Promise<void> => {
    post(port, { kind: 'answered', id: call.id, answer: await handle(handlers, call.name, call.argument) });
    if (call.name === 'drain') port.close();
  };
  port.on('message', (message: ToCore) => {
    core?.count();
    if (message instanceof ArrayBuffer || message.kind !== 'call') open().take(message);
    else keep(port, answer(message));
  });
}

function handle<Name extends keyof CoreCalls>(
  handlers: Handlers,
  name: Name,
  argument: CoreCalls[Name]['argument'],
): Promise<CoreCalls[Name]['answer']> {
  return handlers[name](argument);
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

async function openCore(
  port: MessagePort,
  order: CoreOrder,
  parts: CoreParts & { readonly logThread: LogThread | undefined; readonly peerPort: PeerPort | undefined },
): Promise<OpenCore> {
  const rows = await openLevelStore(order.storeDirectory, order.store);
  const store = ledgerStore(rows, await Ledger.open(order.dataDirectory));
  const { log, recovered } = await openLog(parts.logThread, order);
  const counter = new CoreCounter();
  const links = new PeerMeasureGatherer();
  const reach = await reachOthers(port, { ...parts, store, links }, order);
  const core = await CoreRuntime.open(portsOf(order, { store, log, reach, counter, links }), recovered);
  showEnds(core, port);
  showWhetherAlone(core, new Int32Array(order.alone));
  if (reach !== undefined) keep(port, beginReach(reach, core));
  core.onReport((report) => post(port, packReport(report)));
  const telemeter = new Telemeter((own) => {
    const telemetry = { health: core.health, counts: counter.take(), links: links.take(), signs: links.signs, ...own };
    post(port, { kind: 'telemetry', telemetry });
  });
  const ticking = setInterval(() => {
    telemeter.ticks();
    core.tick();
  }, TICK_MS);
  return {
    opened: { catalog: core.catalog, rebuilding: core.rebuilding, peerPort: reach?.port },
    count: () => telemeter.takes(),
    take: (message) => {
      if (message instanceof ArrayBuffer || message.kind === 'commands') core.send(unpackCommands(message));
      else if (message.kind === 'disk') core.reportDisk(message.level);
      else if (message.kind === 'runs') core.runs(message.digest, message.fault);
      else if (message.kind === 'damaged') core.damaged(message.group);
      else keep(port, reach?.announcer.announce(message.registration));
    },
    administer: async (asked) => {
      assert(reach?.administer !== undefined, 'Only a node with a peer port is administered');
      const answer = reach.administer({ order: asked, isPassedOn: false });
      return answer.catch((error: Error): AdminReply => ({ kind: 'later', reason: error.message }));
    },
    leave: async (withinMs) => {
      await core.leave(withinMs);
      return undefined;
    },
    drain: async () => {
      reach?.announcer.close();
      await core.drain();
      clearInterval(ticking);
      await reach?.close();
      telemeter.close();
      await log.close();
      await store.close();
      return undefined;
    },
  };
}

/**
 * With a peer port, the log has its own thread, because heartbeats must not wait for the disk. Otherwise this thread
 * writes it: two messages between threads, and a wake-up of each, are a tenth of a lone writer's time.
 */
async function openLog(
  thread: LogThread | undefined,
  { logDirectory, identity, walSegmentBytes }: CoreOrder,
): Promise<{ readonly log: LogWriter; readonly recovered: RecoveredLog }> {
  const options = { identity: walIdentity(identity), segmentBytes: walSegmentBytes };
  if (thread === undefined) return DirectLog.open(logDirectory, options);
  return { log: thread, recovered: await thread.open(logDirectory, options) };
}

interface Opening {
  readonly store: LedgerStore;
  readonly log: LogWriter;
  readonly reach: Reach | undefined;
  readonly counter: CoreCounter;
  readonly links: PeerMeasureGatherer;
}

function portsOf(order: CoreOrder, { store, log, reach, counter, links }: Opening): CorePorts {
  const { identity, limits, copies, replaceAfterMs, isSuspect, damaged } = order;
  return {
    node: identity.node,
    isLearner: identity.isLearner,
    founders: FOUNDERS,
    placement: spreadOver(copies, identity.node),
    upkeep: { copies, replaceAfterMs },
    kv: store,
    syncStore: () => store.checkpointFiles(),
    isSuspect,
    damaged,
    log,
    peers: reach?.mail ?? noPeers,
    machines: databaseMachines,
    limits,
    clock: wallClock,
    monotonicMs: () => performance.now(),
    random: nativeRandom,
    observer: counter,
    snapshotObserver: links,
    later: setImmediate,
    release: order.links?.release,
    diskUsedPercent: () => diskUsedPercent(order.storeDirectory),
  };
}

/** A failure of the work ends the process. */
function keep(port: MessagePort, work: Promise<void> = Promise.resolve()): void {
  work.catch((failure: unknown) => fail(port, failure));
}

/** Reports when and why the process must exit, and drains that do not end it. */
function showEnds(core: CoreRuntime, port: MessagePort): void {
  core.onFailure((failure) => fail(port, failure));
  core.onStopRequested(() => post(port, { kind: 'stop-requested' }));
  core.onDrain((note) => post(port, { kind: 'drain', note }));
}

/** Writes whether the core is alone into memory that the front reads (C32). */
function showWhetherAlone(core: CoreRuntime, shown: Int32Array): void {
  core.onCompany(() => Atomics.store(shown, 0, 0));
  Atomics.store(shown, 0, core.isAlone ? 1 : 0);
}

/** Rejects when the node learns that it was removed. */
async function beginReach(reach: Reach, core: CoreRuntime): Promise<void> {
  reach.begin(core);
  await reach.announcer.watch();
}

/** Times the ticks of this thread, counts its messages, and sends its telemetry once a second. */
class Telemeter {
  readonly #send: () => void;
  readonly #sending: NodeJS.Timeout;
  #tickDelaysMs: number[] = [];
  #tickedMs: number | undefined;
  #messagesTaken = 0;

  constructor(send: (own: Pick<Telemetry, 'tickDelaysMs' | 'messagesTaken'>) => void) {
    this.#send = () => {
      send({ tickDelaysMs: this.#tickDelaysMs, messagesTaken: this.#messagesTaken });
      this.#tickDelaysMs = [];
    };
    this.#send();
    this.#sending = setInterval(this.#send, TELEMETRY_MS);
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
    clearInterval(this.#sending);
    this.#send();
  }
}

/** Undefined: this node has no peer links. */
async function reachOthers(
  port: MessagePort,
  parts: CoreParts & {
    readonly store: KvStore;
    readonly peerPort: PeerPort | undefined;
    readonly links: PeerMeasureGatherer;
  },
  { identity, links: order }: Pick<CoreOrder, 'identity' | 'links'>,
): Promise<Reach | undefined> {
  const { peerPort, links: observer } = parts;
  if (order === undefined || peerPort === undefined) return undefined;
  const sleep = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });
  const noteEnd = (): Promise<void> => noteRemoved(parts.store, identity);
  const onAdministered = (administered: Administered): void => post(port, { kind: 'administered', administered });
  const onDuplicate = (words: string): void => fail(port, duplicateProcess(words));
  const openLinks = async (options: PeerLinksOptions): Promise<OpenPeerLinks> =>
    peerPort.openLinks({ ...options, onDuplicate });
  const seen = { observer, onAdministered, otherCluster: () => observer.otherCluster };
  const ports = { ...parts, ...seen, openLinks, random: nativeRandom, sleep, noteRemoved: noteEnd };
  return openReach(ports, identity, order);
}

/** The front has the logger. */
function loggerAt(port: MessagePort): ErrorLog {
  return {
    error: (event, { error, ...fields }) => post(port, { kind: 'logged', event, fields, failure: packFailure(error) }),
  };
}

/** The front ends the process when it receives this. Nothing unreported is acknowledged. */
function fail(port: MessagePort, failure: unknown): void {
  post(port, { kind: 'failed', failure: packFailure(failure) });
}

function post(port: MessagePort, message: FromCore): void {
  port.postMessage(message, []);
}
