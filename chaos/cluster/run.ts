/**
 * A chaos run on a cluster, from start to verdict: starts the nodes, runs epochs of clients and subscribers while the
 * nemesis injects faults, heals the cluster, and checks all histories against the final state.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkAll } from '../../test/simulation/checks/all.ts';
import { Evidence, type FinalDatabase } from '../../test/simulation/checks/evidence.ts';
import { Rng } from '../../test/simulation/engine/random.ts';
import { History } from '../../test/simulation/history.ts';
import { THEATRE } from '../components/box-office.ts';
import { Theatre } from '../components/theatre.ts';
import { type TheatreCounts, theatreCounts, theatreShortfalls } from '../components/theatre-counts.ts';
import { type PageCounts, PageReaders, pageShortfalls } from '../pages/page-readers.ts';
import { stateOf } from './cluster-state.ts';
import { Epoch } from './epoch.ts';
import { type Counts, countsOf, shortfalls } from './expectations.ts';
import { type Figures, figuresOf, longestWithin, silences } from './figures.ts';
import { Fleet, type Members } from './fleet.ts';
import { Member } from './member.ts';
import { type Missing, missingOf } from './missing.ts';
import { type Done, Nemesis } from './nemesis.ts';
import { PROBED, Prober } from './prober.ts';
import type { Span } from './quorum.ts';
import { laggards, must, open, readCopies, writeLastWords } from './truth.ts';
import { makeWorld, type World, type WorldKind } from './world.ts';

export interface RunPlan {
  readonly seed: number;
  readonly nodes: number;
  readonly minutes: number;
  readonly hasFaults: boolean;
  readonly world: WorldKind;
  /** Library that shifts clocks; absent: clock faults are skipped. */
  readonly fakeTime: string | undefined;
  /** Bundle of an earlier release, which every second process of a node runs. */
  readonly before: string | undefined;
  /** Directory for the logs of the nodes, and for the histories of a failed run. */
  readonly dir: string;
  readonly report: (line: string) => void;
}

export interface Verdict extends Figures, Counts {
  readonly world: WorldKind;
  readonly problems: readonly string[];
  /** Number of histories per database that a check could neither explain nor refute, so they prove nothing. */
  readonly undecided: number;
  readonly seconds: number;
  readonly operations: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly databases: number;
  readonly revisions: number;
  /** Number of started processes, by release. */
  readonly processes: Member['started'];
  /** Counts of the answers to clients of components. */
  readonly components: TheatreCounts;
  /** Counts of the answers to readers of pages. */
  readonly pages: PageCounts;
  /** Faults that were skipped, and why. */
  readonly missing: Missing;
}

/** Directory of the histories of a failed run. */
export const HISTORY = 'history';

const EPOCH_MS = 15_000;
const COPIES = 3;
const DISK_BYTES = 192 * 2 ** 20;
const DISK_BYTES_A_MINUTE = 24 * 2 ** 20;
const CATCH_UP_MS = 20_000;
const PROBLEMS_SHOWN = 40;
/** Silences longer than this are printed one by one. */
const SILENCE_MS = 5000;

export async function runCluster(plan: RunPlan): Promise<Verdict> {
  const world = await makeWorld(plan.world, plan.dir);
  const run = new Run(plan, { world, missing: plan.hasFaults ? await missingOf(world, plan.fakeTime) : {} });
  await run.start();
  return run.verdict();
}

class Run {
  readonly #plan: RunPlan;
  readonly #world: World;
  readonly #missing: Missing;
  readonly #problems: string[] = [];
  readonly #epochs: Epoch[] = [];
  readonly #members: Member[] = [];
  readonly #fromMs = performance.now();
  #nemesis: Nemesis | undefined;
  #prober: Prober | undefined;
  #theatre: Theatre | undefined;
  #readers: PageReaders | undefined;
  #finals: readonly FinalDatabase[] = [];
  #undecided = 0;

  constructor(plan: RunPlan, { world, missing }: { readonly world: World; readonly missing: Missing }) {
    this.#plan = plan;
    this.#world = world;
    this.#missing = missing;
  }

  async start(): Promise<void> {
    const { seed, hasFaults } = this.#plan;
    for (const [kind, why] of Object.entries(this.#missing)) this.#say(`no ${kind}: ${why}`);
    const fleet = await this.#startFleet();
    const prober = new Prober(fleet, seed);
    this.#prober = prober;
    await open(prober.connect('opener'), PROBED);
    prober.start();
    const theatre = new Theatre({ seed, places: () => fleet.active });
    this.#theatre = theatre;
    await theatre.open();
    theatre.start();
    const readers = this.#pageReaders(fleet);
    this.#readers = readers;
    readers.start();
    const nemesis = new Nemesis({
      seed,
      fleet,
      network: this.#world.network,
      missing: this.#missing,
      leader: () => prober.leader,
      onDone: (done) => this.#say(`${done.fault.kind} ${JSON.stringify(done.fault)} ${done.nodes.join(' ')}`),
      say: (line) => this.#say(line),
    });
    this.#nemesis = nemesis;
    const faults = hasFaults ? nemesis.run() : Promise.resolve();
    faults.catch((failure: unknown) => this.#problem(`a fault could not be done or undone: ${String(failure)}`));
    await this.#runEpochs(fleet);
    nemesis.stop();
    await faults.catch(() => undefined);
    this.#say('healed');
    await Promise.all([prober.stop(), theatre.stop(), readers.stop()]);
    for (const silence of silences(prober.history).filter(({ ms }) => ms > SILENCE_MS)) {
      const from = ((silence.fromUs / 1000 - this.#fromMs) / 1000).toFixed(1);
      const withMajority = longestWithin(silence, this.#spans);
      this.#say(`no write for ${silence.ms} ms, from ${from} on; ${withMajority} ms of it with a majority`);
    }
    // After a misbehaviour the final state is not read.
    if (this.#problems.length === 0) await this.#judge(fleet.active, prober, theatre);
  }

  verdict(): Verdict {
    const histories = this.#histories;
    const operations = histories.flatMap((history) => history.operations);
    const transacts = histories.flatMap((history) => history.of('transact'));
    const counts = countsOf(histories, this.#done);
    const { problems, untried } = this.#shortfalls();
    // A run that ended early has fewer answers of every kind.
    if (this.#problems.length === 0) for (const problem of problems) this.#problem(problem);
    if (this.#problems.length > 0) this.#keep(histories);
    return {
      world: this.#world.kind,
      problems: this.#problems.slice(0, PROBLEMS_SHOWN),
      undecided: this.#undecided,
      seconds: Math.round((performance.now() - this.#fromMs) / 1000),
      operations: operations.length,
      acknowledged: transacts.filter(({ outcome }) => outcome.kind === 'ok' && outcome.value.kind === 'recorded')
        .length,
      unknown: operations.filter(({ outcome }) => outcome.kind === 'unknown').length,
      databases: this.#finals.length,
      revisions: this.#finals.reduce((sum, { revision }) => sum + revision, 0),
      processes: this.#processes,
      components: this.#seats,
      pages: this.#pages,
      ...counts,
      missing: { ...this.#missing, ...untried },
      ...figuresOf(this.#prober?.history ?? new History(), this.#done, this.#spans),
    };
  }

  /**
   * Runs epochs for the planned time, and up to as long again while a count is below its minimum, as on a busy machine.
   */
  async #runEpochs(fleet: Fleet): Promise<void> {
    const durationMs = this.#plan.minutes * 60_000;
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs && this.#problems.length === 0) {
      await this.#runEpoch(fleet, Math.min(EPOCH_MS, endMs - performance.now()));
    }
    const lastMs = performance.now() + durationMs;
    for (let what = this.#lacking; what !== undefined && performance.now() < lastMs; what = this.#lacking) {
      this.#say(`goes on: ${what}`);
      await this.#runEpoch(fleet, EPOCH_MS);
    }
  }

  /** The first count that is below its minimum, in a run without problems. */
  get #lacking(): string | undefined {
    return this.#problems.length === 0 ? this.#shortfalls().problems[0] : undefined;
  }

  #shortfalls(): ReturnType<typeof shortfalls> {
    const { minutes, hasFaults } = this.#plan;
    const counts = countsOf(this.#histories, this.#done);
    const { problems, untried } = shortfalls(counts, { minutes, hasFaults, missing: this.#missing });
    const ofUses = [...theatreShortfalls(this.#seats, minutes), ...pageShortfalls(this.#pages, minutes)];
    return { problems: [...problems, ...ofUses], untried };
  }

  get #processes(): Member['started'] {
    const sum = (release: keyof Member['started']): number =>
      this.#members.reduce((count, { started }) => count + started[release], 0);
    return { now: sum('now'), before: sum('before') };
  }

  get #seats(): TheatreCounts {
    return theatreCounts(this.#theatre?.history ?? { sales: [], shows: [] });
  }

  get #pages(): PageCounts {
    return this.#readers?.counts ?? { sent: 0, unchanged: 0 };
  }

  #pageReaders(fleet: Fleet): PageReaders {
    return new PageReaders({
      seed: this.#plan.seed,
      places: () => fleet.active,
      names: () => [THEATRE, ...this.#epochs.slice(-2).flatMap(({ names }) => names)],
      onProblem: (what) => this.#problem(what),
    });
  }

  get #histories(): readonly History[] {
    return [this.#prober, ...this.#epochs].flatMap((each) => each?.history ?? []);
  }

  get #done(): readonly Done[] {
    return this.#nemesis?.done ?? [];
  }

  get #spans(): readonly Span[] {
    return this.#nemesis?.spans ?? [];
  }

  async #startFleet(): Promise<Fleet> {
    const first = await this.#host(1);
    await first.start();
    const others: Member[] = [];
    for (let number = 2; number <= this.#plan.nodes; number += 1) {
      const member = await this.#host(number);
      await member.startAnew([first, ...others].map(({ peer }) => peer));
      others.push(member);
    }
    for (const { name, address } of [first, ...others]) this.#say(`${name} is ready at ${address.grpc}`);
    return new Fleet([first, ...others], await this.#host(this.#plan.nodes + 1));
  }

  async #host(number: number): Promise<Member> {
    const { minutes, fakeTime, before, dir } = this.#plan;
    const member = new Member({
      number,
      host: await this.#world.network.add(number),
      disk: await this.#world.disk(`node-${number}`, DISK_BYTES + Math.ceil(minutes * DISK_BYTES_A_MINUTE)),
      fakeTime,
      before,
      dir,
      onMisbehaviour: (what) => this.#problem(what),
    });
    this.#members.push(member);
    return member;
  }

  async #runEpoch(fleet: Fleet, durationMs: number): Promise<void> {
    const { seed } = this.#plan;
    const number = this.#epochs.length + 1;
    const members = (): Members => fleet.active;
    const epoch = new Epoch({ number, seed, members, onMisbehaviour: (what) => this.#problem(what) });
    this.#epochs.push(epoch);
    epoch.start();
    await delay(durationMs);
    await epoch.stop();
    await epoch.stopListening();
    this.#say(`epoch ${number}: ${epoch.history.operations.length} operations`);
  }

  async #judge(members: Members, prober: Prober, theatre: Theatre): Promise<void> {
    try {
      const listed = await must(prober.connect('reader'), 'list', {});
      const names = listed.map(({ name }) => name);
      for (const epoch of this.#epochs) {
        epoch.listen();
        const kept = names.filter((name) => name.startsWith(epoch.prefix));
        await writeLastWords(epoch.connect('last'), kept, new Rng(this.#plan.seed, `${epoch.prefix}last words`));
        await this.#judgeEpoch(epoch, members, kept);
      }
      const finals = await readCopies([PROBED], members, COPIES);
      this.#check(prober.history, finals, 'prober');
      for (const final of await readCopies([THEATRE], members, COPIES)) {
        for (const fault of await theatre.judge(final)) this.#problem(`components: ${fault}`);
      }
    } catch (failure) {
      const what = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
      this.#problem(`${what}\n${await stateOf(members)}`);
    }
  }

  async #judgeEpoch(epoch: Epoch, members: Members, names: readonly string[]): Promise<void> {
    const finals = await readCopies(names, members, COPIES);
    const untilMs = performance.now() + CATCH_UP_MS;
    while (laggards(epoch.followers, finals).length > 0 && performance.now() < untilMs) await delay(100);
    const behind = laggards(epoch.followers, finals);
    await epoch.stopListening();
    const judged = finals.map((final) => ({
      ...final,
      followers: behind.filter(({ databaseId }) => databaseId === final.databaseId),
    }));
    this.#check(epoch.history, judged, `epoch ${epoch.number}`);
  }

  #check(history: History, finals: readonly FinalDatabase[], what: string): void {
    this.#finals = [...this.#finals, ...finals.map((final) => ({ ...final, transactions: [] }))];
    const { faults, undecided } = checkAll(new Evidence(history, finals));
    this.#undecided += undecided.length;
    for (const each of undecided) this.#say(`${what}: ${each}`);
    for (const fault of faults) this.#problem(`${what}: ${fault}`);
    for (const { kind, number, client, outcome } of history.operations) {
      if (outcome.kind === 'error' && outcome.code === 'internal') {
        this.#problem(`${what}: #${number} ${kind} by ${client} was answered with a bug of the server`);
      }
    }
  }

  /** Writes the histories for the analysis of a failed run. */
  #keep(histories: readonly History[]): void {
    const dir = join(this.#plan.dir, HISTORY);
    mkdirSync(dir, { recursive: true });
    for (const [number, history] of histories.entries()) {
      const lines = [...history.operations, ...history.subscriptions].map((each) => JSON.stringify(each));
      writeFileSync(join(dir, `${number}.ndjson`), `${lines.join('\n')}\n`);
    }
    const { sales, shows } = this.#theatre?.history ?? { sales: [], shows: [] };
    const told = [...sales, ...shows].map((each) => `${JSON.stringify(each)}\n`);
    writeFileSync(join(dir, 'components.ndjson'), told.join(''));
    writeFileSync(join(dir, 'faults.ndjson'), this.#done.map((each) => `${JSON.stringify(each)}\n`).join(''));
  }

  #say(line: string): void {
    this.#plan.report(`${((performance.now() - this.#fromMs) / 1000).toFixed(1).padStart(7)} ${line}`);
  }

  #problem(what: string): void {
    this.#say(`PROBLEM: ${what}`);
    this.#problems.push(what);
  }
}
