/**
 * One run of one seed: a safety phase full of faults, then healing, then a liveness phase in which everything must work
 * again and the truth is read out, then the checks.
 */
import { checkAll } from './checks/all.ts';
import { Evidence, type FinalDatabase } from './checks/evidence.ts';
import { DatabaseModel, isAfter } from './checks/model.ts';
import { expectedBehind } from './checks/subscriptions.ts';
import { Simulator } from './engine/simulator.ts';
import { Nemesis } from './faults/nemesis.ts';
import { drawFaults, type Fault } from './faults/plan.ts';
import { drawSwarm, type Swarm } from './faults/swarm.ts';
import { type CallKind, type Calls, History } from './history.ts';
import { Network } from './network.ts';
import { describe, SimNode } from './node/sim-node.ts';
import { Client, type Commons } from './workload/client.ts';
import { Connection } from './workload/connection.ts';
import { Follower } from './workload/follower.ts';
import { Sketches } from './workload/sketches.ts';

export interface RunOptions {
  /** Only these faults of the plan; absent: all. */
  readonly faults?: readonly number[];
  /** Operations of clients at most; absent: as many as they get to. */
  readonly operations?: number;
  /** Hears what happens, line by line. */
  readonly listener?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  /** What is wrong; nothing, when all is well. */
  readonly problems: readonly string[];
  readonly traceHash: string;
  readonly eventCount: number;
  readonly operationCount: number;
  readonly faults: readonly Fault[];
  readonly simulatedUs: number;
  /** Operations by kind and by how they ended, such as `transact ok`. */
  readonly tally: ReadonlyMap<string, number>;
  /** What the checks looked at, when the run came so far. */
  readonly evidence: Evidence | undefined;
}

const NODE = 'node-1';
const SECOND_US = 1_000_000;
/**
 * A node serves so long after it was healed: a drain that had begun waits for a sync that had begun on a disk a thousand
 * times slower, and then the next process starts.
 */
const SERVING_US_MAX = 60 * SECOND_US;
const SETTLE_US_MAX = 30 * SECOND_US;
/** A write or a read on a node that serves is answered within so many attempts. */
const ATTEMPTS_MAX = 3;

export function runSeed(seed: number, options: RunOptions = {}): Promise<RunResult> {
  return new Run(seed, options).run();
}

class Run {
  readonly #simulator: Simulator;
  readonly #swarm: Swarm;
  readonly #faults: readonly Fault[];
  readonly #history = new History();
  readonly #network: Network;
  readonly #node: SimNode;
  readonly #commons: Commons;
  readonly #connections: Connection[] = [];
  readonly #followers: Follower[] = [];
  readonly #nemesis: Nemesis;
  readonly #problems: string[] = [];
  #evidence: Evidence | undefined;
  #isOver = false;
  #isListeningOver = false;

  constructor(seed: number, { faults, operations, listener }: RunOptions) {
    this.#simulator = new Simulator(seed, listener);
    const swarm = this.#simulator.random('swarm');
    this.#swarm = drawSwarm(swarm.split('ranges'));
    const planned = drawFaults(swarm.split('faults'), this.#swarm);
    this.#faults = faults === undefined ? planned : planned.filter(({ number }) => faults.includes(number));
    this.#network = new Network(this.#simulator);
    this.#commons = {
      sent: [],
      asked: [],
      left: Math.min(operations ?? Number.POSITIVE_INFINITY, this.#swarm.operations),
    };
    this.#node = new SimNode(this.#simulator, NODE, this.#swarm.node, {
      onUp: () => undefined,
      onDown: () => {
        for (const connection of this.#connections) connection.lose();
      },
      onMisbehaviour: (what) => this.#problem(what),
    });
    this.#nemesis = new Nemesis({
      simulator: this.#simulator,
      network: this.#network,
      node: this.#node,
      clients: this.#clientNames(),
      onBug: (failure) => this.#problem(`the simulation failed: ${describe(failure)}`),
    });
  }

  async run(): Promise<RunResult> {
    const simulator = this.#simulator;
    simulator.note(`seed ${simulator.seed}: ${JSON.stringify(this.#swarm)}`);
    this.#node.start();
    this.#nemesis.schedule(this.#faults);
    const clients = this.#startClients();
    await simulator.runUntil(() => this.#isStuck() || this.#commons.left <= 0, this.#swarm.safetyUs);
    simulator.note('heal');
    this.#isOver = true;
    this.#nemesis.heal();
    if (!this.#isStuck()) await this.#live(clients);
    return this.#result();
  }

  /** Serves again, and says the truth. */
  async #live(clients: Promise<unknown>): Promise<void> {
    const { nowUs } = this.#simulator;
    if (!(await this.#until(() => this.#node.isServing, nowUs + SERVING_US_MAX))) {
      return this.#problem('the node does not come to serve');
    }
    if ((await this.#within(SETTLE_US_MAX, () => clients)) === undefined) {
      return this.#problem('calls of clients do not come to an end');
    }
    const finals = await this.#within(4 * SETTLE_US_MAX, () => this.#readTruth());
    if (finals === undefined) return this.#problem('the truth cannot be read');
    this.#evidence = new Evidence(this.#history, finals);
    for (const fault of checkAll(this.#evidence)) this.#problem(fault);
  }

  /** Writes to every database, reads all of them, lets subscribers catch up, and reads them again after a power failure. */
  async #readTruth(): Promise<readonly FinalDatabase[]> {
    const reader = this.#connect('reader');
    const sketches = new Sketches(this.#simulator.random('last words'));
    for (const { name } of (await this.#must(reader, 'list', {})) ?? []) {
      const request = {
        name,
        transactionId: sketches.transactionId(),
        constraints: [],
        events: sketches.events('reader'),
      };
      await this.#must(reader, 'transact', request);
    }
    const before = await this.#readAll(reader);
    const waitUntilUs = this.#simulator.nowUs + 5 * SECOND_US;
    while (this.#laggards(before).length > 0 && this.#simulator.nowUs < waitUntilUs) await reader.sleep(100_000);
    const laggards = this.#laggards(before);
    this.#isListeningOver = true;
    this.#node.crash({ kind: 'power', share: 0 });
    while (!this.#node.isUp) await reader.sleep(50_000);
    const after = await this.#readAll(reader);
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      this.#problem('after a power failure at rest the databases are not what they were');
    }
    return after.map((final) => ({
      ...final,
      followers: laggards.filter(({ databaseId }) => databaseId === final.databaseId),
    }));
  }

  async #readAll(reader: Connection): Promise<readonly FinalDatabase[]> {
    const finals: FinalDatabase[] = [];
    for (const { name } of await this.#must(reader, 'list', {})) {
      const { createdAtMs } = await this.#must(reader, 'describe', { name, at: 'latest' });
      const log = await this.#must(reader, 'log', { name, start: 0, direction: 'forward', limit: 0 });
      const { databaseId, revision, transactions } = log;
      const { chainHash } = await this.#must(reader, 'describe', { name, at: revision });
      finals.push({ name, databaseId, revision, chainHash, createdAtMs, transactions, followers: [] });
    }
    return finals;
  }

  /** On a node that nobody disturbs every call succeeds, at the latest after a retry. */
  async #must<Kind extends CallKind>(
    reader: Connection,
    kind: Kind,
    request: Calls[Kind]['request'],
  ): Promise<Calls[Kind]['value']> {
    for (let attempt = 1; ; attempt += 1) {
      const { outcome } = await reader.call(kind, request);
      if (outcome.kind === 'ok') return outcome.value;
      if (attempt === ATTEMPTS_MAX) throw new Error(`A healed node fails to ${kind}: ${JSON.stringify(outcome)}`);
      await reader.sleep(SECOND_US);
    }
  }

  /** Subscribers of living instances that have not got all of them. */
  #laggards(
    finals: readonly FinalDatabase[],
  ): readonly { readonly databaseId: string; readonly client: string; readonly number: number }[] {
    return this.#followers.flatMap(({ client, name, selector, place }) => {
      const final = finals.find((each) => each.name === name);
      if (final === undefined) return [];
      const { databaseId, transactions, revision } = final;
      const isSame = place?.databaseId === databaseId;
      const after = isSame ? place.after : { revision: 0, index: 0 };
      const events = new DatabaseModel(transactions).events(revision);
      const isMissing = expectedBehind(events, { selector, after }).some((event) => isAfter(event, after));
      const number = this.#history.subscriptions.findLast((each) => each.client === client)?.number ?? -1;
      return isMissing ? [{ databaseId, client, number }] : [];
    });
  }

  #startClients(): Promise<unknown> {
    const isOver = (): boolean => this.#isOver;
    const { clientCount, followerCount, habits } = this.#swarm;
    const running: Promise<void>[] = [];
    for (let number = 1; number <= clientCount; number += 1) {
      const name = `client-${number}`;
      const client = new Client(this.#connect(name), habits, this.#simulator.random(name), this.#commons);
      running.push(client.run(isOver));
    }
    for (let number = 1; number <= followerCount; number += 1) {
      const random = this.#simulator.random(`follower-${number}`);
      const wanted = {
        client: `follower-${number}`,
        name: random.pick(habits.names),
        selector: new Sketches(random.split('selector')).selector(),
      };
      const follower = new Follower(this.#world(), random, wanted);
      this.#followers.push(follower);
      follower.run(() => this.#isListeningOver).catch((failure: unknown) => this.#problem(describe(failure)));
    }
    return Promise.all(running);
  }

  #clientNames(): readonly string[] {
    const names = (kind: string, count: number): readonly string[] =>
      Array.from({ length: count }, (_, place) => `${kind}-${place + 1}`);
    return [...names('client', this.#swarm.clientCount), ...names('follower', this.#swarm.followerCount)];
  }

  #connect(client: string): Connection {
    const connection = new Connection(client, this.#world());
    this.#connections.push(connection);
    return connection;
  }

  #world(): ConstructorParameters<typeof Connection>[1] {
    return { simulator: this.#simulator, network: this.#network, node: this.#node, history: this.#history };
  }

  /** What the work comes to in so much virtual time; undefined when it fails, or does not end. */
  async #within<Value>(limitUs: number, work: () => Promise<Value>): Promise<Value | undefined> {
    const ended: Value[] = [];
    const follow = async (): Promise<void> => {
      ended.push(await work());
    };
    follow().catch((failure: unknown) => this.#problem(describe(failure)));
    await this.#until(() => ended.length > 0, this.#simulator.nowUs + limitUs);
    return ended[0];
  }

  async #until(isDone: () => boolean, limitUs: number): Promise<boolean> {
    await this.#simulator.runUntil(() => isDone() || this.#isStuck(), limitUs);
    return isDone();
  }

  /** A node that misbehaves is not looked at any further. */
  #isStuck(): boolean {
    return this.#problems.length > 0;
  }

  #problem(what: string): void {
    this.#simulator.note(`PROBLEM: ${what}`);
    this.#problems.push(what);
  }

  #result(): RunResult {
    const tally = new Map<string, number>();
    for (const { kind, outcome } of this.#history.operations) {
      const how = outcome.kind === 'error' ? `${outcome.code} ${outcome.reason ?? ''}` : outcome.kind;
      const key = `${kind} ${how}`.trim();
      tally.set(key, (tally.get(key) ?? 0) + 1);
    }
    return {
      seed: this.#simulator.seed,
      problems: this.#problems,
      traceHash: this.#simulator.trace.hash,
      eventCount: this.#simulator.trace.eventCount,
      operationCount: this.#history.operations.length,
      faults: this.#faults,
      simulatedUs: this.#simulator.nowUs,
      tally,
      evidence: this.#evidence,
    };
  }
}
