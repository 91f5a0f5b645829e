/**
 * Injects the faults of a run, in the rows of faults.ts, and undoes each of them. At most one fault at a time affects
 * the process of a node. A fault that breaks the majority starts only after the majority was up for a while, and lasts
 * a few seconds; longer faults never break it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '#cluster';
import { Rng } from '../../test/simulation/engine/random.ts';
import { nowUs } from './connection.ts';
import { Deck, type Fault, nameOf, ROWS, type Way } from './faults.ts';
import type { Fleet } from './fleet.ts';
import type { Member } from './member.ts';
import type { Missing } from './missing.ts';
import type { Network } from './network.ts';
import { Quorum, type Span } from './quorum.ts';
import { replace } from './replacement.ts';

/** A fault that was injected. */
export interface Done {
  readonly fault: Fault;
  readonly nodes: readonly string[];
  /** Leader of the probed database when the fault began. */
  readonly leader: string | undefined;
  readonly fromUs: number;
  toUs: number;
}

export interface NemesisOptions {
  readonly seed: number;
  readonly fleet: Fleet;
  readonly network: Network;
  /** Faults that cannot be injected here, and why. */
  readonly missing: Missing;
  readonly leader: () => string | undefined;
  readonly onDone: (done: Done) => void;
  readonly say: (line: string) => void;
}

/** Long enough for elections. Otherwise no write and no join would succeed during a long fault. */
const SETTLED_MS = 2 * LIMITS.electionWindowMs + 1000;
const LOOK_MS = 50;
/** A fault that is not allowed for this long lets the next one of its row go first. */
const PATIENCE_MS = 2000;
const DISK_FAILS_WITHIN_MS = 4000;
/** A disk failure may end the process this much later. */
const DISK_ECHO_MS = 3000;

export class Nemesis {
  readonly done: Done[] = [];
  readonly #options: NemesisOptions;
  readonly #quorum: Quorum;
  /** Nodes whose process is affected by a fault. */
  readonly #taken = new Set<Member>();
  /** The node that is being replaced. */
  #replaced: Member | undefined;
  readonly #over = new AbortController();

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#quorum = new Quorum(options.fleet.size);
  }

  /** Periods in which a majority of the nodes was up. */
  get spans(): readonly Span[] {
    return this.#quorum.spans;
  }

  /** Resolves when `stop` was called and every fault has ended. */
  async run(): Promise<void> {
    await Promise.all(ROWS.map((row) => this.#runRow(row)));
  }

  /** Starts no more faults and skips the remaining pauses. */
  stop(): void {
    this.#over.abort();
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  async #runRow({ name, cards, pauseMsMean }: (typeof ROWS)[number]): Promise<void> {
    const random = new Rng(this.#options.seed, `faults: ${name}`);
    const deck = new Deck(random.split('deck'), cards);
    while (!this.#isOver) {
      await delay(random.exponential(pauseMsMean), undefined, { signal: this.#over.signal }).catch(() => undefined);
      const fault = deck.draw();
      if (this.#options.missing[nameOf(fault)] !== undefined) continue;
      const members = await this.#whenItMay(fault, (waitedMs) => waitedMs > PATIENCE_MS && deck.postpone(fault));
      if (members !== undefined) await this.#carryOut(fault, members);
    }
  }

  /**
   * Waits until the fault is allowed, and returns the affected nodes. When its target cannot have it, for example
   * because another fault affects it, another node gets it. Returns undefined when the run ends first or the fault is
   * postponed.
   */
  async #whenItMay(fault: Fault, isGivenUp: (waitedMs: number) => boolean): Promise<readonly Member[] | undefined> {
    const fromMs = performance.now();
    while (!this.#isOver) {
      const targeted = this.#from(fault);
      for (const first of targeted.keys()) {
        const members = membersFor(fault, [...targeted.slice(first), ...targeted.slice(0, first)]);
        if (this.#mayBeDone(fault, members)) return members;
      }
      if (isGivenUp(performance.now() - fromMs)) return undefined;
      await delay(LOOK_MS);
    }
    return undefined;
  }

  #mayBeDone(fault: Fault, members: readonly Member[]): boolean {
    const isFree = !hasToDoWithProcess(fault) || members.every((member) => !this.#taken.has(member));
    if (!isFree || this.#quorum.bears(impairedBy(fault, members))) return isFree;
    return !lastsLong(fault) && this.#quorum.isSettled(SETTLED_MS);
  }

  /** All possible nodes for the fault, its target first. */
  #from(fault: Fault): readonly Member[] {
    const { fleet, leader } = this.#options;
    const { isLeader, draw } = fault.target;
    const isLasting = (member: Member): boolean => member !== this.#replaced;
    const members = hasToDoWithProcess(fault) ? fleet.active.filter(isLasting) : fleet.active;
    const name = isLeader ? leader() : undefined;
    const found = members.findIndex((member) => member.name === name);
    const first = found === -1 ? draw % members.length : found;
    return [...members.slice(first), ...members.slice(0, first)];
  }

  async #carryOut(fault: Fault, members: readonly Member[]): Promise<void> {
    const isOfTwo = fault.kind === 'partition' && fault.way.endsWith('link');
    const hit = isOfLinks(fault) ? members.slice(0, isOfTwo ? 2 : 1) : members;
    const nodes = hit.map(({ name }) => name);
    const done: Done = { fault, nodes, leader: this.#options.leader(), fromUs: nowUs(), toUs: 0 };
    this.done.push(done);
    const taken = hasToDoWithProcess(fault) ? members : [];
    for (const member of taken) this.#taken.add(member);
    try {
      if (fault.kind === 'restart') await this.#restart(members);
      else await this.#quorum.without(impairedBy(fault, members), () => this.#do(fault, members));
    } finally {
      for (const member of taken) this.#taken.delete(member);
    }
    done.toUs = nowUs();
    this.#options.onDone(done);
  }

  async #do(fault: Exclude<Fault, { readonly kind: 'restart' }>, members: readonly Member[]): Promise<void> {
    const [member] = members;
    if (member === undefined) return;
    switch (fault.kind) {
      case 'kill':
        await Promise.all(members.map((each) => each.end('SIGKILL')));
        await delay(fault.downMs);
        await Promise.all(members.map((each) => each.start()));
        return;
      case 'pause':
      case 'sleep':
        member.pause();
        await delay(fault.durationMs);
        member.resume();
        return;
      case 'partition':
        return this.#partition(fault, members);
      case 'slow-link':
        return this.#slowLinks(fault, members);
      case 'slow-disk': {
        const delayUs = fault.delayMs * 1000;
        const end = await member.inject('fdatasync,fsync,pwrite64', `delay_exit=${delayUs}`);
        await delay(fault.durationMs);
        return end();
      }
      case 'sync-error':
        return failSyncs(member, fault.error);
      case 'full-disk':
        return fillDisk(member, fault);
      case 'replace':
        return this.#replace(member, fault.isDead);
      case 'clock':
        // Nodes without a majority of agreeing clocks do not write (C41), so only one clock is wrong at a time.
        for (const each of this.#options.fleet.all) if (each.clockMs !== 0) each.setClock(0);
        return member.setClock(fault.offsetMs);
    }
  }

  async #restart(members: readonly Member[]): Promise<void> {
    for (const member of members) {
      await this.#quorum.without([member.number], async () => {
        await member.end('SIGTERM');
        await member.start();
      });
    }
  }

  async #replace(member: Member, isDead: boolean): Promise<void> {
    this.#replaced = member;
    const { fleet, say } = this.#options;
    await replace(fleet, { old: member, isDead, say: (line) => say(`replace: ${line}`) });
    this.#replaced = undefined;
  }

  async #partition(fault: Extract<Fault, { readonly kind: 'partition' }>, members: readonly Member[]): Promise<void> {
    const { network } = this.#options;
    const numbers = members.map(({ number }) => number);
    const [first = 0] = numbers;
    if (fault.way === 'unplugged') {
      await network.unplug(first);
      await delay(fault.durationMs);
      return network.plug(first);
    }
    const ways = waysOf(fault.way, numbers);
    await Promise.all(ways.map(([from, to]) => network.close(from, to)));
    await delay(fault.durationMs);
    await Promise.all(ways.map(([from, to]) => network.open(from, to)));
  }

  async #slowLinks(fault: Extract<Fault, { readonly kind: 'slow-link' }>, members: readonly Member[]): Promise<void> {
    const { delays } = this.#options.network;
    if (delays === undefined) throw new Error('Links cannot be slowed here: `missing` should have said so');
    const numbers = members.map(({ number }) => number);
    const ways = waysOf('isolated', numbers);
    for (const [from, to] of ways) delays.delay(from, to, fault.delayMs);
    await delay(fault.durationMs);
    for (const [from, to] of ways) delays.delay(from, to, 0);
    const [first = 0] = numbers;
    if (fault.isLost) delays.reset(first);
  }
}

/** Nodes that the fault affects, given the possible nodes in order. */
function membersFor(fault: Fault, ordered: readonly Member[]): readonly Member[] {
  if (fault.kind === 'kill') return ordered.slice(0, { one: 1, two: 2, all: ordered.length }[fault.count]);
  if (isOfLinks(fault) || (fault.kind === 'restart' && fault.isRolling)) return ordered;
  return ordered.slice(0, 1);
}

/** Directions, each from one node to another, that are blocked around the first node. */
function waysOf(way: Way, [first = 0, ...others]: readonly number[]): readonly (readonly [number, number])[] {
  const out = others.map((other) => [first, other] as const);
  const back = others.map((other) => [other, first] as const);
  switch (way) {
    case 'unplugged':
      return [];
    case 'isolated':
      return [...out, ...back];
    case 'mute':
      return out;
    case 'deaf':
      return back;
    case 'one-link':
      return [...out.slice(0, 1), ...back.slice(0, 1)];
    case 'half-link':
      return out.slice(0, 1);
  }
}

/** Nodes that may not be available while the fault lasts. */
function impairedBy(fault: Fault, members: readonly Member[]): readonly number[] {
  const numbers = members.map(({ number }) => number);
  // A leaving node runs until other nodes have its data.
  if (fault.kind === 'clock' || (fault.kind === 'replace' && !fault.isDead)) return [];
  if (fault.kind === 'kill') return numbers;
  // With one link down, a third node reaches both ends, so a majority stays connected.
  if (fault.kind === 'partition' && fault.way.endsWith('link')) return [];
  return numbers.slice(0, 1);
}

/** True when the node may be unavailable for longer than a few seconds. */
function lastsLong(fault: Fault): boolean {
  return fault.kind === 'sleep' || (fault.kind === 'replace' && fault.isDead);
}

function hasToDoWithProcess(fault: Fault): boolean {
  return !isOfLinks(fault) && fault.kind !== 'clock';
}

function isOfLinks({ kind }: Fault): boolean {
  return kind === 'partition' || kind === 'slow-link';
}

async function failSyncs(member: Member, error: string): Promise<void> {
  member.allowDiskFailure(true);
  const end = await member.inject('fdatasync,fsync', `error=${error}:when=1+`);
  const hasEnded = await member.endsWithin(DISK_FAILS_WITHIN_MS);
  await end();
  await startAgain(member, hasEnded);
}

async function fillDisk(
  member: Member,
  { leftBytes, durationMs }: { readonly leftBytes: number; readonly durationMs: number },
): Promise<void> {
  member.allowDiskFailure(true);
  const end = await member.fillDisk(leftBytes);
  const hasEnded = await member.endsWithin(durationMs);
  await end();
  await startAgain(member, hasEnded);
}

async function startAgain(member: Member, hasEnded: boolean): Promise<void> {
  if (hasEnded || (await member.endsWithin(DISK_ECHO_MS))) await member.start();
  else member.allowDiskFailure(false);
}
