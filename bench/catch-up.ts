/**
 * How fast a member that has nothing gets a database from its leader, and what that does to those who write meanwhile.
 *
 *   node --conditions=source bench/catch-up.ts [--events 300000] [--batch 10] [--bytes 300] [--writers 16]
 *
 * Three cores over real logs and stores in a temporary directory: the leader and a follower in this thread, the third
 * member in a thread of its own, between them frames in memory. The database is filled while the third is away, with
 * logs that keep a MiB. Then it starts empty. Writers send one event at a time, each the next when the last is
 * answered; their rate is taken before, during and after. CPU times are of the process: all three cores, logs and
 * stores.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { encodeUtf8, type GroupId, type NodeId, toNodeId, toRevision } from '#base';
import {
  type CoreLimits,
  CoreRuntime,
  clusterOf,
  FrontNode,
  LIMITS,
  nativeCrc32,
  nativeRandom,
  nativeSha256,
  PeerCodec,
  type Peers,
  toStoreId,
  unobservedSnapshots,
  wallClock,
} from '#cluster';
import { DATA_KIND, encodeEvent, encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { LogThread, openLevelStore } from '#storage';
import { databaseMachines } from '../src/cluster/database-machines.ts';
import { uuidBytes } from '../src/cluster/node-rows.ts';

const CLUSTER = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
const NODES = [1, 2, 3].map(toNodeId);
const [FIRST = toNodeId(1), SECOND = toNodeId(2), THIRD = toNodeId(3)] = NODES;
const MEBIBYTE = 2 ** 20;
const KEEPS_LITTLE: CoreLimits = {
  ...LIMITS,
  tailBytesMax: MEBIBYTE,
  retainedBytesMax: MEBIBYTE,
  snapshotWindowBytes: Number(process.env['WINDOW'] ?? LIMITS.snapshotWindowBytes),
};
const MEASURED_MS = 3000;

interface Sent {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly frame: Uint8Array;
}

interface Running {
  readonly core: CoreRuntime;
  readonly front: FrontNode;
  take(frame: Uint8Array): void;
  close(): Promise<void>;
}

function placeOf(node: NodeId): { readonly node: NodeId; readonly store: ReturnType<typeof toStoreId> } {
  return { node, store: toStoreId(`0199a5c8-3c1e-7a2b-9f01-${node.toString(16).padStart(12, '0')}`) };
}

async function startCore(node: NodeId, directory: string, send: (sent: Sent) => boolean): Promise<Running> {
  const place = placeOf(node);
  const codec = new PeerCodec({ clusterId: CLUSTER, self: place, crc32: nativeCrc32, random: nativeRandom });
  const post = (to: NodeId, frame: Uint8Array): boolean => send({ from: node, to, frame });
  const peers: Peers = {
    send: (to, messages, refrains) =>
      codec.encode(placeOf(to), messages, refrains).forEach(({ frame }) => void post(to, frame)),
    forward: (to, items) => codec.encodeForwards(placeOf(to), items).forEach(({ frame }) => void post(to, frame)),
    sendLetter: (to, letter) => post(to, codec.encodeLetter(placeOf(to), letter)),
    setPeers: () => undefined,
  };
  const store = await openLevelStore(join(directory, `store-${node}`));
  const log = LogThread.start();
  const identity = { clusterId: uuidBytes(CLUSTER), storeId: uuidBytes(place.store) };
  const recovered = await log.open(join(directory, `log-${node}`), { identity, segmentBytes: 64 * MEBIBYTE });
  const nothing = (): void => undefined;
  const core = await CoreRuntime.open(
    {
      ...clusterOf(NODES, node),
      kv: store,
      syncStore: () => store.checkpointFiles(),
      log,
      peers,
      machines: databaseMachines,
      limits: KEEPS_LITTLE,
      clock: wallClock,
      monotonicMs: () => performance.now(),
      random: nativeRandom,
      observer: {
        elected: nothing,
        followed: nothing,
        campaignFailed: nothing,
        committed: nothing,
        synced: nothing,
        written: nothing,
      },
      snapshotObserver: unobservedSnapshots,
      later: setImmediate,
    },
    recovered,
  );
  core.onFailure((failure) => {
    throw failure;
  });
  const front = new FrontNode({
    link: core,
    reader: store,
    identity: { clusterId: CLUSTER, storeId: place.store, node },
    name: `node-${node}`,
    catalog: core.catalog,
    disk: () => 'open',
    storedRevision: (group) => databaseMachines.markOf(store, group)?.revision ?? toRevision(0),
    schedule: setImmediate,
    monotonicMs: () => performance.now(),
    observer: { proposed: nothing, refused: nothing, read: nothing },
    close: async () => undefined,
  });
  const ticking = setInterval(() => core.tick(), 50);
  return {
    core,
    front,
    take: (frame) => {
      const decoded = codec.decode(frame);
      if (decoded.kind === 'failure') throw new Error(decoded.reason.words);
      const { from, tables, messages, forwards, letter } = decoded.value;
      core.receive(from.node, messages, tables);
      if (forwards.length > 0) core.forwarded(from.node, forwards);
      if (letter !== undefined) core.receiveLetter(from.node, letter);
    },
    close: async () => {
      await core.drain();
      clearInterval(ticking);
      await log.close();
      await store.close();
    },
  };
}

/** The third member: starts when it is told to, says how far the database is, and ends. */
async function runThird(port: MessagePort, directory: string): Promise<void> {
  const third = await startCore(THIRD, directory, (sent) => {
    port.postMessage(sent, []);
    return true;
  });
  const telling = setInterval(() => {
    const bound = third.front.catalog.lookup('shop');
    const { user, system } = process.threadCpuUsage();
    const revision = bound === undefined ? 0 : third.front.applied(bound.group);
    port.postMessage({ revision, cpu: (user + system) / 1e6 }, []);
  }, 20);
  port.on('message', (message: Sent | 'end') => {
    if (message !== 'end') return third.take(message.frame);
    clearInterval(telling);
    void third.close().then(() => port.close());
  });
}

/** The two others, with whom the third is when it is there. */
class Cluster {
  readonly #directory: string;
  readonly #here = new Map<NodeId, Running>();
  #third: Worker | undefined;
  revisionOfThird = 0;
  /** Seconds of its thread. */
  cpuOfThird = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(): Promise<Running> {
    const send = (sent: Sent): boolean => this.#send(sent);
    for (const node of [FIRST, SECOND]) this.#here.set(node, await startCore(node, this.#directory, send));
    for (;;) {
      const leader = [...this.#here.values()].find(({ core }) => core.leads(CATALOG));
      if (leader !== undefined) return leader;
      await pause(20);
    }
  }

  leaderOf(group: GroupId): Running | undefined {
    return [...this.#here.values()].find(({ core }) => core.leads(group));
  }

  startThird(): void {
    this.#third = new Worker(import.meta.filename, { workerData: this.#directory });
    this.#third.on('message', (message: Sent | { readonly revision: number; readonly cpu: number }) => {
      if ('revision' in message) {
        this.revisionOfThird = message.revision;
        this.cpuOfThird = message.cpu;
      } else this.#here.get(message.to)?.take(message.frame);
    });
  }

  async end(): Promise<void> {
    const third = this.#third;
    if (third !== undefined) {
      const exited = new Promise((resolve) => void third.once('exit', resolve));
      third.postMessage('end', []);
      await exited;
    }
    await Promise.all([...this.#here.values()].map((node) => node.close()));
  }

  #send(sent: Sent): boolean {
    if (sent.to === THIRD) this.#third?.postMessage(sent, []);
    else setImmediate(() => this.#here.get(sent.to)?.take(sent.frame));
    return true;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
const CATALOG = 0 as GroupId;
let written = 0;

function payloadOf(events: number, bytes: number): Uint8Array {
  written += 1;
  return encodeTransactPayload({
    transactionId: nativeSha256([encodeUtf8(`transaction ${written}`)]).subarray(0, 16),
    origin: ORIGIN.UNSPECIFIED,
    options: NO_OPTIONS,
    constraints: [],
    events: Array.from({ length: events }, (_, at) =>
      encodeEvent({
        id: `${written}-${at}`,
        specVersion: '1.0',
        type: `type-${at % 5}`,
        source: `/streams/orders/${written % 100}`,
        subject: `order-${written % 10_000}`,
        data: new Uint8Array(bytes),
        dataKind: DATA_KIND.BINARY,
        extensions: new Map(),
      }),
    ),
  });
}

/** Writers that go on until they are stopped; how many answers they have got. */
function startWriters(count: number, leader: Running, group: GroupId): { answered: number; stop(): Promise<void> } {
  const state = { answered: 0, isStopped: false, stop: async (): Promise<void> => undefined };
  const writers = Array.from({ length: count }, async () => {
    while (!state.isStopped) {
      await leader.front.transact(group, payloadOf(1, 300));
      state.answered += 1;
    }
  });
  state.stop = async () => {
    state.isStopped = true;
    await Promise.all(writers);
  };
  return state;
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '300000' },
      batch: { type: 'string', default: '10' },
      bytes: { type: 'string', default: '300' },
      writers: { type: 'string', default: '16' },
    },
  });
  const [events, batch, bytes, writerCount] = [values.events, values.batch, values.bytes, values.writers].map(Number);
  if (events === undefined || batch === undefined || bytes === undefined || writerCount === undefined) return;
  const directory = mkdtempSync(join(tmpdir(), 'cairn-catch-up-'));
  const cluster = new Cluster(directory);
  try {
    const catalog = await cluster.start();
    const { binding } = await catalog.front.createDatabase('shop');
    let leader: Running | undefined;
    for (; leader === undefined; leader = cluster.leaderOf(binding.group)) await pause(20);
    const at = leader;
    for (let done = 0; done < events; done += batch * 100) {
      await Promise.all(Array.from({ length: 100 }, () => at.front.transact(binding.group, payloadOf(batch, bytes))));
    }
    await pause(2000);
    const writers = startWriters(writerCount, at, binding.group);
    const rate = async (isOver: () => boolean): Promise<{ perSecond: number; seconds: number; cpu: number }> => {
      const [count, startedMs, cpu] = [writers.answered, performance.now(), process.cpuUsage()];
      while (!isOver()) await pause(10);
      const seconds = (performance.now() - startedMs) / 1000;
      const { user, system } = process.cpuUsage(cpu);
      return { perSecond: (writers.answered - count) / seconds, seconds, cpu: (user + system) / 1e6 };
    };
    const forMs = (ms: number): (() => boolean) => {
      const endMs = performance.now() + ms;
      return () => performance.now() >= endMs;
    };
    await rate(forMs(1000));
    const before = await rate(forMs(MEASURED_MS));
    const target = events / batch;
    cluster.startThird();
    while (cluster.revisionOfThird === 0) await pause(5);
    const first = cluster.revisionOfThird;
    const firstCpu = cluster.cpuOfThird;
    const during = await rate(() => cluster.revisionOfThird >= target);
    const cpuOfThird = cluster.cpuOfThird - firstCpu;
    const after = await rate(forMs(MEASURED_MS));
    await writers.stop();
    const caughtUp = (target - first) * batch;
    const extraCpu =
      during.cpu - before.cpu * (during.seconds / before.seconds) * (during.perSecond / before.perSecond);
    console.log(
      `load ${loadavg()[0]?.toFixed(1)}; ${writerCount} writers, events of ${bytes} bytes, ${batch} a transaction`,
    );
    console.log(
      `catch-up   ${caughtUp} events in ${during.seconds.toFixed(2)} s: ${Math.round(caughtUp / during.seconds)} events/s`,
    );
    console.log(
      `           ${((extraCpu * 1e6) / caughtUp).toFixed(1)} µs of CPU an event beyond what the writes take`,
    );
    console.log(
      `           ${((cpuOfThird * 1e6) / caughtUp).toFixed(1)} µs of them in the thread of the member's core`,
    );
    for (const [name, { perSecond }] of [
      ['before', before],
      ['during', during],
      ['after', after],
    ] as const)
      console.log(`writes ${name.padEnd(8)} ${Math.round(perSecond)} /s`);
  } finally {
    await cluster.end();
    rmSync(directory, { recursive: true, force: true });
  }
}

if (isMainThread) await measure();
else if (parentPort !== null) await runThird(parentPort, String(workerData));
