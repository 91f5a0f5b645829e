/**
 * Clients of a Cairn cluster in Kubernetes, whose history is judged by the checks of the simulation. Writers repeat a
 * transaction under its id until it is recorded, and change to another pod when one does not answer; readers ask
 * changing pods. One writer and one reader know only the Service.
 */
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, type Server, type Servers } from '../../../chaos/cluster/connection.ts';
import { silences } from '../../../chaos/cluster/figures.ts';
import { open, readCopies } from '../../../chaos/cluster/truth.ts';
import { Informer } from '../../../operator/src/kube/index.ts';
import { checkAll } from '../../simulation/checks/all.ts';
import { Evidence, scopesOf } from '../../simulation/checks/evidence.ts';
import { Rng } from '../../simulation/engine/random.ts';
import { type AnyOperation, History, type Operation } from '../../simulation/history.ts';
import { type Cluster, eventually } from '../cluster.ts';
import type { Pod } from '../objects.ts';
import { firstKey, learnerHost, podHost, SERVICE_HOST } from './install.ts';

export interface ClientFigures {
  /** Number of recorded transactions. */
  readonly writes: number;
  /** Number of transactions that a writer gave up. */
  readonly failedWrites: number;
  /** Number of requests of writers and readers that did not succeed; most were repeated. */
  readonly failedRequests: number;
  /** The same by outcome; `unknown` means that no answer came, or that the answer leaves the outcome open. */
  readonly failures: Readonly<Record<string, number>>;
  readonly requests: number;
  /** The failures of requests to the Service. */
  readonly serviceFailures: Readonly<Record<string, number>>;
  /** Number of failed attempts to connect to the Service. */
  readonly lostConnections: number;
  readonly longestWriteGapMs: number;
  /** Faults that a check of the history found, and differences between replicas. */
  readonly faults: readonly string[];
}

interface ClientOptions {
  readonly seed: number;
  /** True when the ports use TLS with authorities that this process trusts. */
  readonly isSecure: boolean;
  /** Number of pods from the first on. Clients ask them by name, and they hold all data in the end. */
  readonly replicas: number;
  /** Number of learners, from the first on, which hold all data in the end, too. */
  readonly learners?: number;
}

/** The pods that a client asks; by default all voters, which relay what they have no replica of. */
interface Reach {
  readonly servers?: Servers;
  readonly isRelayed?: boolean;
}

/** Replicas of the database. */
const COPIES = 3;
const DATABASE = 'orders';
const WRITERS = 3;
const READERS = 2;
const PAUSE_MS = 30;
const DEADLINE_MS = 2000;
/** The address of a pod that is gone never answers. A busy machine may take longer than a request. */
const CONNECT_MS = 10_000;
/** Longer than all pods are away in any scenario. */
const GIVE_UP_MS = 400_000;
const GRPC = 50_051;
const HTTP = 3000;
const AT_SERVICE = 'service-';
const AT_LEARNERS = 'learner-reader';

export class Clients {
  readonly #history = new History();
  readonly #cluster: Cluster;
  readonly #scheme: string;
  readonly #servers: Servers;
  readonly #service: Servers;
  readonly #learners: readonly Server[];
  readonly #processes: Processes;
  readonly #random: Rng;
  readonly #connections: Connection[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #key = '';
  #recorded = 0;
  #failed = 0;
  #lostConnections = 0;

  constructor(cluster: Cluster, { seed, isSecure, replicas, learners = 0 }: ClientOptions) {
    this.#cluster = cluster;
    this.#scheme = isSecure ? 'https' : 'http';
    this.#processes = new Processes(cluster);
    this.#random = new Rng(seed, 'kubernetes');
    const others = Array.from({ length: replicas - 1 }, (_, place) => this.#pod(podHost(place + 1)));
    this.#servers = [this.#pod(podHost(0)), ...others];
    this.#learners = Array.from({ length: learners }, (_, place) => this.#pod(learnerHost(place)));
    // Another process may answer each time, so no two answers belong to one session.
    this.#service = [this.#server('cairn', SERVICE_HOST, () => Number.NaN)];
  }

  async start(): Promise<void> {
    await Promise.all([this.#processes.start(), this.readKey()]);
    const { address } = await lookup(SERVICE_HOST);
    // A Service follows its pods some time after they are ready. Connections lost before that do not count.
    await eventually(`${SERVICE_HOST} to have a pod`, () => accepts(address, GRPC));
    using opener = this.#connect('opener');
    await open(opener, DATABASE);
    this.#running = Promise.all([
      ...Array.from({ length: WRITERS }, (_, place) => this.#write(this.#connect(`writer-${place + 1}`))),
      ...Array.from({ length: READERS }, (_, place) => this.#read(this.#connect(`reader-${place + 1}`))),
      this.#write(this.#connect(`${AT_SERVICE}writer`, { servers: this.#service })),
      this.#read(this.#connect(`${AT_SERVICE}reader`, { servers: this.#service })),
      this.#dial(address),
    ]);
  }

  /** Starts a reader at these learners. They answer by themselves, and relay nothing. */
  readAtLearners(ordinals: readonly number[]): void {
    const [first, ...others] = ordinals.map((ordinal) => this.#pod(learnerHost(ordinal)));
    if (first === undefined) throw new Error('there are no learners to read at');
    const reader = this.#connect(AT_LEARNERS, { servers: [first, ...others], isRelayed: false });
    this.#running = Promise.all([this.#running, this.#read(reader)]);
  }

  /** Resolves when learners have answered this many more reads. */
  async untilReadAtLearners(count: number): Promise<void> {
    const readCount = (): number =>
      this.#history.operations.filter(({ client, outcome }) => client === AT_LEARNERS && outcome.kind === 'ok').length;
    const goal = readCount() + count;
    await eventually(`${goal} reads at learners`, async () => readCount() >= goal);
  }

  /** Reads the current first key, which new connections use. */
  async readKey(): Promise<void> {
    this.#key = await firstKey(this.#cluster);
  }

  /** The pod that led the database according to the latest answer. */
  get leader(): string | undefined {
    const told = this.#connections.flatMap(({ leader }) => leader ?? []);
    return told.toSorted((one, other) => other.atUs - one.atUs)[0]?.name;
  }

  get recorded(): number {
    return this.#recorded;
  }

  /** Resolves when this many more transactions are recorded. */
  async untilMore(count: number): Promise<void> {
    const goal = this.#recorded + count;
    while (this.#recorded < goal && this.#failed === 0) await delay(PAUSE_MS);
  }

  /**
   * Notes that the database has continued as another instance, from this revision of the one before. The checks then
   * find every transaction that was acknowledged up to it.
   */
  noteRecovery(revision: number): void {
    const { operations, recoveries } = this.#history;
    const seen = operations.flatMap((operation) =>
      scopesOf(operation).map(({ databaseId }) => ({ databaseId, atUs: operation.returnedUs })),
    );
    const [{ databaseId: before = '' } = {}, { databaseId = '' } = {}] = [seen[0], seen.at(-1)];
    if (before === databaseId) throw new Error(`the database is still ${before}`);
    const atUs = Math.max(...seen.filter((each) => each.databaseId === before).map((each) => each.atUs));
    const end = this.#history.begin('recovery', 'delete', { name: DATABASE, databaseId: before }, atUs);
    Object.assign(end, { returnedUs: atUs, outcome: { kind: 'ok', value: { databaseId: before } } });
    const creation = this.#history.begin('recovery', 'create', { name: DATABASE }, atUs);
    const value = { databaseId, revision: 0, createdAtMs: 0 };
    Object.assign(creation, { returnedUs: atUs, outcome: { kind: 'ok', value } });
    recoveries.push({ before, databaseId, revision });
  }

  /** Ends the clients and checks their history against the final data of every pod. */
  async judge(): Promise<ClientFigures> {
    this.#isOver = true;
    await this.#running;
    this.#processes.stop();
    const { operations } = this.#history;
    const failures = operations.filter(({ outcome }) => outcome.kind !== 'ok');
    return {
      writes: this.#recorded,
      failedWrites: this.#failed,
      failedRequests: failures.length,
      failures: countsByOutcome(failures),
      requests: operations.length,
      serviceFailures: countsByOutcome(failures.filter(({ client }) => client.startsWith(AT_SERVICE))),
      lostConnections: this.#lostConnections,
      longestWriteGapMs: silences(this.#history).reduce((longest, { ms }) => Math.max(longest, ms), 0),
      faults: await this.#faults(),
    };
  }

  async #faults(): Promise<readonly string[]> {
    try {
      // The chain of a recovered instance begins with the first one.
      const roots = new Map(this.#history.recoveries.map(({ databaseId, before }) => [databaseId, before]));
      const copies = Math.min(COPIES, this.#servers.length) + this.#learners.length;
      const found = await readCopies([DATABASE], [...this.#servers, ...this.#learners], copies);
      const finals = found.map((copy) => ({ ...copy, rootId: roots.get(copy.databaseId) }));
      return checkAll(new Evidence(this.#history, finals)).faults;
    } catch (error) {
      return [String(error)];
    }
  }

  #pod(host: string): Server {
    const [name = host] = host.split('.');
    return this.#server(name, host, () => this.#processes.incarnationOf(name));
  }

  #server(name: string, host: string, incarnation: () => number): Server {
    const keyNow = (): string => this.#key;
    const places = { grpc: `${host}:${GRPC}`, http: `${this.#scheme}://${host}:${HTTP}` };
    return {
      name,
      get address() {
        return { ...places, key: keyNow() };
      },
      get incarnation() {
        return incarnation();
      },
    };
  }

  #connect(client: string, { servers = this.#servers, isRelayed = true }: Reach = {}): Connection {
    const connection = new Connection({
      client,
      members: () => servers,
      history: this.#history,
      random: this.#random.split(client),
      roamShare: 0.1,
      deadlineMs: DEADLINE_MS,
      isRelayed,
    });
    this.#connections.push(connection);
    return connection;
  }

  async #write(connection: Connection): Promise<void> {
    using writing = connection;
    for (let count = 0; !this.#isOver; count += 1) {
      const text = `${writing.client} ${count}`;
      const event = { id: text, stream: 'kubernetes', type: 'written', subject: writing.client, text, zeros: 0 };
      const request = { name: DATABASE, transactionId: randomUUID(), constraints: [], events: [event] };
      const untilMs = performance.now() + GIVE_UP_MS;
      let isRecorded = false;
      while (!isRecorded && performance.now() < untilMs) {
        isRecorded = wasRecorded(await writing.call('transact', request));
        await delay(PAUSE_MS);
        if (!isRecorded) writing.roam();
      }
      if (isRecorded) this.#recorded += 1;
      else this.#failed += 1;
    }
  }

  async #dial(address: string): Promise<void> {
    for (; !this.#isOver; await delay(PAUSE_MS)) {
      if (!(await accepts(address, GRPC))) this.#lostConnections += 1;
    }
  }

  async #read(connection: Connection): Promise<void> {
    using reading = connection;
    while (!this.#isOver) {
      await reading.call('describe', { name: DATABASE, at: 'latest' });
      await delay(PAUSE_MS);
    }
  }
}

/** True when the port accepts a connection. */
async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

function countsByOutcome(operations: readonly AnyOperation[]): Readonly<Record<string, number>> {
  const kinds = Map.groupBy(operations, ({ outcome }) => (outcome.kind === 'error' ? outcome.code : outcome.kind));
  return Object.fromEntries([...kinds].map(([kind, each]) => [kind, each.length]));
}

function wasRecorded({ outcome }: Operation<'transact'>): boolean {
  return outcome.kind === 'ok' && outcome.value.kind === 'recorded';
}

/** Counts the processes of each pod: reads of one process never go back, but those of the next one may be older. */
class Processes {
  readonly #pods: Informer<Pod>;
  readonly #seen = new Map<string, Set<string>>();
  readonly #over = new AbortController();

  constructor({ api }: Cluster) {
    const onError = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
    this.#pods = new Informer<Pod>(api, '/api/v1/namespaces/default/pods', {
      onSet: (pod) => this.#see(pod),
      onError,
    });
  }

  async start(): Promise<void> {
    void this.#pods.run(this.#over.signal);
    await this.#pods.synced;
  }

  stop(): void {
    this.#over.abort();
  }

  incarnationOf(name: string): number {
    return this.#seen.get(name)?.size ?? 0;
  }

  #see({ metadata: { name, uid }, status }: Pod): void {
    const restarts = (status.containerStatuses ?? []).map(({ restartCount }) => restartCount).join();
    const seen = this.#seen.get(name) ?? new Set();
    this.#seen.set(name, seen.add(`${uid} ${restarts}`));
  }
}
