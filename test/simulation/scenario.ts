// One run of one seed: a safety phase with faults, then healing, then a liveness phase in which everything must work
// again and the final state is read, and finally the checks.
import { checkAll } from './checks/all.ts';
import { Evidence } from './checks/evidence.ts';
import { SimCluster } from './cluster.ts';
import { Rng } from './engine/random.ts';
import { Simulator } from './engine/simulator.ts';
import { Nemesis } from './faults/nemesis.ts';
import {
  drawAbsences,
  drawFaults,
  drawInterceptions,
  drawLosses,
  drawLostSegments,
  drawOperatorFaults,
  drawRecoveries,
  drawRefoundings,
  drawResizings,
  drawSpoiledHistories,
  drawStoreCuts,
  drawTraps,
  type Fault,
} from './faults/plan.ts';
import { asPutBack, type Story as PutBackStory, putBack } from './faults/put-back.ts';
import {
  asAimed,
  asCluster,
  asHarmed,
  asIntercepted,
  asLaned,
  asLate,
  asPeopled,
  asPooled,
  asRefounded,
  asRestless,
  asReturned,
  asSegmented,
  asShown,
  drawSwarm,
  type Swarm,
} from './faults/swarm.ts';
import { History } from './history.ts';
import type { Modes } from './modes.ts';
import { Network } from './network.ts';
import { describe } from './node/sim-node.ts';
import { othersGoOn } from './standstill.ts';
import { leadsRest } from './stillness.ts';
import { Truth } from './truth.ts';
import { Client, type Commons } from './workload/client.ts';
import { Connection } from './workload/connection.ts';
import { Definer } from './workload/definer.ts';
import { Follower, type Wanted } from './workload/follower.ts';
import { Sketches } from './workload/sketches.ts';

export interface RunOptions extends Modes {
  /** Number of nodes; absent: drawn by the seed. */
  readonly nodes?: number | undefined;
  /** Numbers of the faults to inject; absent: all of the plan. */
  readonly faults?: readonly number[];
  /** Maximum number of client operations; absent: unlimited. */
  readonly operations?: number;
  /** Receives the events, line by line. */
  readonly listener?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  readonly nodes: number;
  /** The requested modes. */
  readonly modes: Modes;
  /** Problems; empty when everything is good. */
  readonly problems: readonly string[];
  /** Number of names whose history a check could neither explain nor refute, so they prove nothing. */
  readonly undecided: number;
  readonly traceHash: string;
  readonly eventCount: number;
  readonly operationCount: number;
  readonly faults: readonly Fault[];
  readonly simulatedUs: number;
  /** Numbers of operations by kind and outcome, such as `transact ok`. */
  readonly tally: ReadonlyMap<string, number>;
  /** Evidence of the checks, if the run came so far. */
  readonly evidence: Evidence | undefined;
}

const SECOND_US = 1_000_000;
/** Share of the seeds with `--cuts`. */
const SEGMENTED_SHARE = 0.5;
/** A drain may wait for a sync on a disk that is a thousand times slower, before the next process starts. */
const SERVING_US_MAX = 60 * SECOND_US;
/** Share of the aimed seeds whose traps target operations that take longer than an election. */
const LATE_SHARE = 0.3;
/** Additional story of most aimed seeds with clusters in which some nodes lack a replica. */
type Story = 'shown' | 'refounded' | 'returned' | 'intercepted';
const STORIES = {
  shown: asShown,
  refounded: asRefounded,
  returned: asReturned,
  intercepted: asIntercepted,
} as const satisfies Record<Story, unknown>;
const STORY_NODES = 5;
/** Share of other stories that become this one, drawn separately. */
const INTERCEPTED_SHARE = 1 / 6;
/** Clusters of this size also have many databases, so that requests to several nodes return more than one. */
const MANY_NODES = 7;
/** Share of the seeds with so many nodes, and without a story, in which the last ones are learners. */
const POOL_SHARE = 0.4;
const RESIZED_POOL_SHARE = 0.7;
/** Time after which everything is finished that was done before the end of all nodes. */
const OVER_US = 5 * SECOND_US;
/** Number of clients that define components, if any do. */
const DEFINERS = 2;
const PUT_BACK_NODES = 3;
const PUT_BACK_US_MAX = 600 * SECOND_US;
/** Reports of the invariant watchers start with the number of the invariant. */
const INVARIANT = /^I\d/;
const SETTLE_US_MAX = 30 * SECOND_US;
const STILL_US_MAX = 90 * SECOND_US;
/** Each node restarts within seconds, or is killed after ten; twice per step between releases. */
const UPGRADED_US_MAX = 360 * SECOND_US;
/** Without faults, all nodes have joined and leaving nodes have left within this time. */
const FORMED_US_MAX = 120 * SECOND_US;

/** Undefined for no story besides the traps. */
function drawStory(random: Rng): Story | undefined {
  const draw = random.share();
  if (draw < 0.5) return 'shown';
  if (draw < 0.85) return 'refounded';
  return draw < 0.95 ? 'returned' : undefined;
}

/** Default number of nodes of a seed: one, three, five or seven. */
export function nodesOf(seed: number): number {
  const nodes = new Rng(seed, 'nodes').pick([1, 1, 3, 3, 3, 5]);
  return nodes === 5 && new Rng(seed, 'many nodes').chance(0.3) ? MANY_NODES : nodes;
}

/** Thrown when selected faults do not exist in the seed. */
export class NoSuchFault extends Error {}

/** @throws NoSuchFault */
export function runSeed(seed: number, options: RunOptions = {}): Promise<RunResult> {
  return new Run(seed, options).run();
}

function chosenFrom(planned: readonly Fault[], numbers: readonly number[]): readonly Fault[] {
  const stranger = numbers.find((number) => planned.every((fault) => fault.number !== number));
  if (stranger === undefined) return planned.filter(({ number }) => numbers.includes(number));
  const last = planned.at(-1)?.number;
  throw new NoSuchFault(
    `${stranger} is no fault of the seed: ${last === undefined ? 'it has none' : `it has 0 to ${last}`}`,
  );
}

class Run {
  readonly #simulator: Simulator;
  readonly #swarm: Swarm;
  readonly #faults: readonly Fault[];
  readonly #history = new History();
  readonly #network: Network;
  readonly #cluster: SimCluster;
  readonly #commons: Commons;
  readonly #connections: Connection[] = [];
  readonly #followers: Follower[] = [];
  readonly #nemesis: Nemesis;
  readonly #problems: string[] = [];
  readonly #modes: Modes;
  readonly #isAimed: boolean;
  readonly #hasLanes: boolean;
  readonly #hasDefinitions: boolean;
  readonly #story: Story | undefined;
  readonly #putBackStory: PutBackStory;
  #evidence: Evidence | undefined;
  #undecided = 0;
  #isOver = false;
  #isListeningOver = false;

  constructor(seed: number, { nodes, faults, operations, listener, ...modes }: RunOptions) {
    this.#modes = modes;
    this.#simulator = new Simulator(seed, listener);
    const swarm = this.#simulator.random('swarm');
    const ranges = drawSwarm(swarm.split('ranges'));
    const nodeCount = modes.restored === true ? PUT_BACK_NODES : (nodes ?? nodesOf(seed));
    const few = nodeCount === 1 ? ranges : asCluster(ranges, nodeCount, this.#simulator.random('cluster'));
    const peopled = nodeCount < MANY_NODES ? few : asPeopled(few, this.#simulator.random('many names'));
    this.#isAimed = modes.aimed === true;
    const isResized = modes.resized === true && nodeCount > 1;
    const mayPool = isResized || (nodeCount >= STORY_NODES && !this.#isAimed);
    const hasPool = mayPool && this.#simulator.random('pool').chance(isResized ? RESIZED_POOL_SHARE : POOL_SHARE);
    const drawn = hasPool ? asPooled(peopled, nodeCount < MANY_NODES ? 1 : 2) : peopled;
    this.#putBackStory = this.#simulator.random('story of volumes').pick(['alive', 'parted']);
    const mood = this.#simulator.random('mood');
    const isRestless = mood.chance(this.#isAimed ? 0.35 : 0.15);
    const restless = isRestless ? asRestless(drawn) : drawn;
    const isLate = this.#isAimed && this.#simulator.random('late').chance(LATE_SHARE);
    const aimedAt = this.#isAimed ? asAimed(restless, mood) : restless;
    const story = this.#simulator.random('story');
    const drawnStory = this.#isAimed && nodeCount >= STORY_NODES ? drawStory(story) : undefined;
    const isIntercepted = this.#simulator.random('story of answers').chance(INTERCEPTED_SHARE);
    this.#story = isIntercepted && this.#isAimed && nodeCount >= STORY_NODES ? 'intercepted' : drawnStory;
    const traps = isLate ? asLate(aimedAt) : aimedAt;
    const world = this.#story === undefined ? traps : STORIES[this.#story](aimedAt, story);
    this.#hasLanes = modes.lanes === true;
    this.#hasDefinitions = modes.definitions === true;
    const laned = this.#hasLanes ? asLaned(world, this.#simulator.random('lanes')) : world;
    const linked = this.#hasLanes && this.#isAimed ? asHarmed(laned, this.#simulator.random('harm')) : laned;
    const timed = modes.times === true ? { ...linked, habits: { ...linked.habits, isTimed: true } } : linked;
    const isSegmented = modes.cuts === true && this.#simulator.random('segments').chance(SEGMENTED_SHARE);
    const cut = isSegmented ? asSegmented(timed, this.#simulator.random('checkpoints')) : timed;
    const calm = modes.restored === true ? asPutBack(cut) : cut;
    this.#swarm = modes.unchecked === true ? { ...calm, node: { ...calm.node, checksSteps: false } } : calm;
    const planned = this.#plan(swarm.split('faults'));
    this.#faults = faults === undefined ? planned : chosenFrom(planned, faults);
    this.#network = new Network(this.#simulator);
    const left = Math.min(operations ?? Number.POSITIVE_INFINITY, this.#swarm.operations);
    this.#commons = { sent: [], asked: [], left };
    this.#cluster = new SimCluster(this.#simulator, this.#swarm, {
      onDown: (node) => {
        for (const connection of this.#connections) connection.lose(node);
      },
      onMisbehaviour: (what) => this.#misbehaved(what),
    });
    this.#nemesis = new Nemesis({
      simulator: this.#simulator,
      network: this.#network,
      history: this.#history,
      nodes: this.#cluster.nodes,
      exchange: this.#cluster.exchange,
      overhear: this.#cluster.overhear,
      lines: this.#cluster.lines,
      watchers: () => this.#cluster.watchers(),
      clients: this.#clientNames(),
      onBug: (failure) => this.#problem(`the simulation failed: ${describe(failure)}`),
    });
  }

  #plan(random: Rng): readonly Fault[] {
    const faults = this.#withResizings(this.#planOthers(random));
    if (this.#modes.cuts !== true) return faults;
    const { safetyUs, nodeCount } = this.#swarm;
    const ranges = { safetyUs, nodeCount };
    const cuts = drawStoreCuts(this.#simulator.random('store cuts'), { ...ranges, first: faults.length });
    const others = [...faults, ...cuts];
    const segments = drawLostSegments(this.#simulator.random('lost segments'), { ...ranges, first: others.length });
    const inLogs = [...others, ...segments];
    const losses = drawLosses(this.#simulator.random('lost rows'), { ...ranges, first: inLogs.length });
    const all = [...inLogs, ...losses];
    const spoiled = this.#simulator.random('spoiled histories');
    return [...all, ...drawSpoiledHistories(spoiled, { ...ranges, first: all.length })];
  }

  #withResizings(faults: readonly Fault[]): readonly Fault[] {
    const { safetyUs, nodeCount } = this.#swarm;
    if (this.#modes.resized !== true || nodeCount === 1) return faults;
    const ranges = { safetyUs, nodeCount, first: faults.length };
    return [...faults, ...drawResizings(this.#simulator.random('resizings'), ranges)];
  }

  #planOthers(random: Rng): readonly Fault[] {
    const { cluster, safetyUs, traps: mood } = this.#swarm;
    if (this.#story === 'refounded') return this.#planEnd(random);
    const faults = drawFaults(random, this.#swarm);
    if (cluster === undefined) return faults;
    const { trapUsMean } = cluster;
    const traps = this.#simulator.random('traps');
    const aimed = [...faults, ...drawTraps(traps, { trapUsMean, safetyUs, mood, first: faults.length })];
    if (this.#isAimed) return this.#withInterceptions(aimed);
    const ranges = { safetyUs, nodeCount: this.#swarm.nodeCount, first: aimed.length };
    const operated = [...aimed, ...drawOperatorFaults(this.#simulator.random('operator'), ranges)];
    const recoveries = { ...ranges, first: operated.length };
    const recovered = [...operated, ...drawRecoveries(this.#simulator.random('recovery'), recoveries)];
    const absences = drawAbsences(this.#simulator.random('absentees'), { ...ranges, first: recovered.length });
    return this.#withInterceptions([...recovered, ...absences]);
  }

  #withInterceptions(faults: readonly Fault[]): readonly Fault[] {
    const isStory = this.#story === 'intercepted';
    // With fewer nodes hardly any node lacks a replica that two others have.
    if (this.#swarm.nodeCount < STORY_NODES || (this.#isAimed && !isStory)) return faults;
    const ranges = { safetyUs: this.#swarm.safetyUs, isStory, first: faults.length };
    return [...faults, ...drawInterceptions(this.#simulator.random('interceptions'), ranges)];
  }

  /** Half of the time has faults, and then all nodes end. */
  #planEnd(random: Rng): readonly Fault[] {
    const endUs = this.#swarm.safetyUs / 2;
    const faults = drawFaults(random, { ...this.#swarm, safetyUs: endUs - OVER_US });
    return [...faults, ...drawRefoundings(this.#simulator.random('refounding'), { atUs: endUs, first: faults.length })];
  }

  async run(): Promise<RunResult> {
    const simulator = this.#simulator;
    simulator.note(`seed ${simulator.seed}: ${JSON.stringify(this.#swarm)}`);
    this.#cluster.start();
    if (this.#swarm.cluster?.startsFormed === true) await this.#until(() => this.#cluster.isFormed, FORMED_US_MAX);
    if (this.#modes.restored === true) {
      await this.#within(PUT_BACK_US_MAX, () => this.#putBack());
      return this.#result();
    }
    const beganUs = simulator.nowUs;
    this.#nemesis.schedule(this.#faults);
    const clients = this.#startClients();
    await simulator.runUntil(() => this.#isStuck() || this.#commons.left <= 0, beganUs + this.#swarm.safetyUs);
    simulator.note('heal');
    this.#isOver = true;
    this.#nemesis.heal();
    if (!this.#isStuck()) await this.#live(clients);
    return this.#result();
  }

  async #putBack(): Promise<boolean> {
    const { simulator, cluster } = { simulator: this.#simulator, cluster: this.#cluster };
    const onProblem = (what: string): void => this.#problem(what);
    await putBack({ simulator, cluster, writer: this.#connect('writer'), story: this.#putBackStory, onProblem });
    return true;
  }

  /** A voter that has forgotten its vote violates an assumption of Raft: only the detection counts then. */
  #misbehaved(what: string): void {
    if (this.#putBackStory === 'parted' && this.#modes.restored === true && INVARIANT.test(what)) return;
    this.#problem(what);
  }

  /** The liveness phase: the cluster must serve again, and the final state is read. */
  async #live(clients: Promise<unknown>): Promise<void> {
    if (!(await this.#until(() => !this.#nemesis.isRefounding, this.#simulator.nowUs + SERVING_US_MAX))) {
      return this.#problem('what is left of the cluster does not begin another one');
    }
    const { nowUs } = this.#simulator;
    if (!(await this.#until(() => this.#cluster.isServing, nowUs + SERVING_US_MAX))) {
      return this.#problem('the node does not come to serve');
    }
    if (!(await this.#until(() => !this.#nemesis.isUpgrading, this.#simulator.nowUs + UPGRADED_US_MAX))) {
      return this.#problem('the upgrade does not come to its end');
    }
    if (!(await this.#until(() => this.#cluster.isFormed, this.#simulator.nowUs + FORMED_US_MAX))) {
      return this.#problem('the nodes do not find each other');
    }
    if ((await this.#within(SETTLE_US_MAX, () => clients)) === undefined) {
      return this.#problem('calls of clients do not come to an end');
    }
    await this.#within(2 * SETTLE_US_MAX, () => this.#standStill());
    await this.#within(STILL_US_MAX, () => this.#rest());
    const truth = new Truth({
      simulator: this.#simulator,
      cluster: this.#cluster,
      history: this.#history,
      followers: this.#followers,
      follow: (wanted) => this.#follow(wanted, this.#simulator.random(wanted.client)),
      reader: this.#connect('reader', { isRelayed: false }),
      onProblem: (what) => this.#problem(what),
      onHeard: () => void (this.#isListeningOver = true),
    });
    const finals = await this.#within(this.#swarm.nodeCount * 4 * SETTLE_US_MAX, () => truth.read());
    if (finals === undefined) return this.#problem('the truth cannot be read');
    this.#evidence = new Evidence(this.#history, finals);
    const { faults, undecided } = checkAll(this.#evidence);
    this.#undecided = undecided.length;
    for (const fault of faults) this.#problem(fault);
  }

  #standStill(): Promise<boolean> {
    return othersGoOn({
      simulator: this.#simulator,
      cluster: this.#cluster,
      writer: this.#connect('standstill'),
      onProblem: (what) => this.#problem(what),
    });
  }

  #rest(): Promise<boolean> {
    const onProblem = (what: string): void => this.#problem(what);
    const writer = this.#connect('stillness');
    return leadsRest({ simulator: this.#simulator, cluster: this.#cluster, writer, onProblem });
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
    for (let number = 1; this.#hasDefinitions && number <= DEFINERS; number += 1) {
      const name = `definer-${number}`;
      running.push(new Definer(this.#connect(name), habits.names, this.#simulator.random(name)).run(isOver));
    }
    for (let number = 1; number <= followerCount; number += 1) {
      const random = this.#simulator.random(`follower-${number}`);
      const wanted = {
        client: `follower-${number}`,
        name: random.pick(habits.names),
        selector: new Sketches(random.split('selector')).selector(),
      };
      this.#follow(wanted, random);
    }
    return Promise.all(running);
  }

  #follow(wanted: Wanted, random: Rng): void {
    const follower = new Follower(this.#world(), random, wanted);
    this.#followers.push(follower);
    follower.run(() => this.#isListeningOver).catch((failure: unknown) => this.#problem(describe(failure)));
  }

  #clientNames(): readonly string[] {
    const names = (kind: string, count: number): readonly string[] =>
      Array.from({ length: count }, (_, place) => `${kind}-${place + 1}`);
    const { clientCount, followerCount } = this.#swarm;
    const definers = names('definer', this.#hasDefinitions ? DEFINERS : 0);
    return [...names('client', clientCount), ...names('follower', followerCount), ...definers];
  }

  #connect(client: string, options?: { readonly isRelayed: boolean }): Connection {
    const connection = new Connection(client, this.#world(), options);
    this.#connections.push(connection);
    return connection;
  }

  #world(): ConstructorParameters<typeof Connection>[1] {
    return { simulator: this.#simulator, network: this.#network, nodes: this.#cluster.nodes, history: this.#history };
  }

  /** Result of the work within a limit of virtual time; undefined when it fails or does not end. */
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

  /** After a misbehaviour nothing more is read. */
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
      nodes: this.#swarm.nodeCount,
      modes: this.#modes,
      problems: this.#problems,
      undecided: this.#undecided,
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
