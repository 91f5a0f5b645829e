// Targeted faults. Most bugs of a replicated log only show when the right node fails in the right millisecond: the one
// that has just made a promise, and the one that relies on it. A trap waits for a kind of message between two nodes and
// then hits both; until then it isolates some of the others and slows disks down.
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { PeerExchange } from '../peers/exchange.ts';
import type { Heard, Overhear } from './overhear.ts';

/**
 * Messages: a vote, an acknowledgement of entries, a commit index, entries, the first of a term, a new heartbeat round.
 */
export type Word = 'vote' | 'ack' | 'commit' | 'entries' | 'lead' | 'round';

/**
 * Fault of a node. `none`: nothing. `power`: it loses power and all unsynced data. `alone`: it is isolated from all
 * other nodes. `asleep`: isolated, and its core is suspended until shortly before the end. `held`: the same, and the
 * answers to its last messages arrive when it continues. `stall`: the disk of its log stops, and is slow for a while
 * afterwards.
 */
export interface Blow {
  readonly kind: 'none' | 'power' | 'alone' | 'asleep' | 'held' | 'stall';
  /** Time after the message; `alone` with 0 isolates the node before the message gets out. */
  readonly delayUs: number;
}

export interface Trap {
  readonly kind: 'trap';
  /** Index among the groups with several members. */
  readonly group: number;
  readonly word: Word;
  /** Number of such messages to skip. */
  readonly skip: number;
  /** Nodes that are isolated until then: as many as the others can work without. */
  readonly apart: 'nobody' | 'leader' | 'followers';
  /** Selects the followers, if only some are affected. */
  readonly turn: number;
  /** True when the hit nodes restart before they return. */
  readonly restarts: boolean;
  /** Factor for the disks of followers or all nodes meanwhile, and mean latency of messages. */
  readonly slowness: number;
  readonly slows: 'followers' | 'all';
  readonly latencyUs: number;
  readonly speaker: Blow;
  readonly hearer: Blow;
  /** Time to wait for the message, and duration of the isolation. */
  readonly waitUs: number;
  readonly durationUs: number;
}

interface TrapperParts {
  readonly simulator: Simulator;
  readonly exchange: PeerExchange;
  readonly nodes: readonly SimNode[];
  readonly overhear: Overhear;
}

type Aim = Pick<Trap, 'word' | 'apart' | 'restarts' | 'speaker' | 'hearer' | 'slowness'> &
  Partial<Pick<Trap, 'group' | 'latencyUs' | 'slows'>>;

const MILLISECOND_US = 1000;
const WAKE_US = 100 * MILLISECOND_US;
/** Time after which an asked node has answered, and maximum time from waking up to the arrival of the answer. */
const ANSWERED_US = 10 * MILLISECOND_US;
const HEARD_US = 20 * MILLISECOND_US;
/** Time for which a stopped disk is slow afterwards, and its factor. */
const WEAK_US = 2000 * MILLISECOND_US;
const WEAKNESS = 100;
/** Several of these latencies take as long as an election window. */
const CROSSING_US = 300 * MILLISECOND_US;
const NONE: Blow = { kind: 'none', delayUs: 0 };
const POWER: Blow = { kind: 'power', delayUs: 0 };
const ALONE: Blow = { kind: 'alone', delayUs: 0 };
const ASLEEP: Blow = { kind: 'asleep', delayUs: 0 };
/** When the message has been received and processed. */
const ALONE_AFTER: Blow = { kind: 'alone', delayUs: 3 * MILLISECOND_US };
/** Which fault breaks which promise, in a situation in which it matters. */
const AIMS: readonly [Aim, ...Aim[]] = [
  // Forgets a vote that has decided an election, and is asked again.
  { word: 'vote', apart: 'leader', restarts: true, speaker: POWER, hearer: ALONE_AFTER, slowness: 30 },
  // Forgets an entry that was committed because of its acknowledgement.
  { word: 'ack', apart: 'followers', restarts: false, speaker: POWER, hearer: ALONE_AFTER, slowness: 300 },
  // Nodes that lack committed entries meet without the node that has committed them.
  { word: 'ack', apart: 'followers', restarts: false, speaker: NONE, hearer: ALONE_AFTER, slowness: 1 },
  // A leader that commits and is isolated, and answers as if it still led.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ALONE, hearer: NONE, slowness: 1 },
  // A leader that wakes up to requests from the time in which others took over.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ASLEEP, hearer: NONE, slowness: 1 },
  // Its successors have the committed entries, do not know that they are committed, and need long to find out.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ALONE, hearer: NONE, slowness: 300 },
  // A new leader, and then another one.
  { word: 'lead', apart: 'leader', restarts: false, speaker: ALONE, hearer: NONE, slowness: 30 },
  // Candidates of the same term whose requests cross.
  { word: 'lead', apart: 'leader', restarts: false, speaker: NONE, hearer: NONE, slowness: 1, latencyUs: CROSSING_US },
];
/** Aims at the catalog: a node does not learn that a name was created or deleted, and continues to answer. */
const NAME_AIMS: readonly [Aim, ...Aim[]] = [
  { group: 0, word: 'entries', apart: 'nobody', restarts: false, speaker: NONE, hearer: ALONE, slowness: 1 },
  { group: 0, word: 'commit', apart: 'nobody', restarts: false, speaker: NONE, hearer: ALONE, slowness: 1 },
  { group: 0, word: 'entries', apart: 'nobody', restarts: false, speaker: ALONE_AFTER, hearer: NONE, slowness: 1 },
];

/** Operations that take longer than an election, and then take effect for later requests. */
const LATE_AIMS: readonly [Aim, ...Aim[]] = [
  // The answer to an old heartbeat round reaches a deposed leader together with newer reads.
  { word: 'round', apart: 'nobody', restarts: false, speaker: { kind: 'held', delayUs: 0 }, hearer: NONE, slowness: 1 },
  // The disk writes entries that no other node has any more, while others replace them.
  {
    word: 'entries',
    apart: 'followers',
    restarts: false,
    speaker: { kind: 'power', delayUs: 2 * MILLISECOND_US },
    hearer: { kind: 'stall', delayUs: 0 },
    slowness: 300,
    slows: 'all',
  },
];

/** Main target of a seed's traps: anything, the catalog, or operations that take longer than an election. */
export type TrapMood = 'any' | 'names' | 'late';

const AIMS_OF = { any: AIMS, names: NAME_AIMS } as const;

export function drawTrap(random: Rng, mood: TrapMood = 'any'): Trap {
  if (mood === 'late') return drawLate(random);
  const aims = AIMS_OF[mood];
  const aim = random.chance(0.7) ? random.pick(aims) : drawAim(random);
  return {
    kind: 'trap',
    group: random.between(0, 5),
    latencyUs: 0,
    slows: 'followers',
    ...aim,
    skip: random.chance(0.5) ? 0 : random.between(1, 12),
    turn: random.between(0, 4),
    waitUs: random.between(500, 8000) * MILLISECOND_US,
    durationUs: random.between(1000, 9000) * MILLISECOND_US,
  };
}

/** Long enough for another leader to be elected. */
function drawLate(random: Rng): Trap {
  return {
    kind: 'trap',
    group: random.between(0, 3),
    latencyUs: 0,
    slows: 'followers',
    ...random.pick(LATE_AIMS),
    skip: 0,
    turn: random.between(0, 4),
    waitUs: 8000 * MILLISECOND_US,
    durationUs: random.between(4000, 9000) * MILLISECOND_US,
  };
}

function drawAim(random: Rng): Aim {
  const blow = (): Blow => ({
    kind: random.pick(['none', 'power', 'alone', 'asleep']),
    delayUs: random.pick([0, 500, 3 * MILLISECOND_US, 20 * MILLISECOND_US]),
  });
  return {
    word: random.pick<Word>(['vote', 'ack', 'commit', 'entries', 'lead']),
    apart: random.pick<Trap['apart']>(['nobody', 'leader', 'followers']),
    restarts: random.chance(0.5),
    speaker: blow(),
    hearer: blow(),
    slowness: random.pick([1, 30, 300]),
  };
}

export class Trapper {
  readonly #parts: TrapperParts;
  #isOver = false;

  constructor(parts: TrapperParts) {
    this.#parts = parts;
  }

  /** Disarms all traps. */
  heal(): void {
    this.#isOver = true;
  }

  set(trap: Trap): void {
    const { overhear, nodes, exchange } = this.#parts;
    const { groups } = overhear;
    const group = groups[trap.group % Math.max(1, groups.length)];
    const leader = group === undefined ? undefined : overhear.leaderOf(group);
    if (group === undefined || leader === undefined) return;
    const followers = turned(overhear.followersOf(group), trap.turn);
    const spared = Math.floor((followers.length + 1) / 2);
    const apart = trap.apart === 'leader' ? [leader] : trap.apart === 'followers' ? followers.slice(0, spared) : [];
    const opens = apart.map((host) => this.#isolate(host));
    const restarted = nodes.filter(({ name }) => trap.restarts && apart.includes(name));
    const slowed = nodes.filter(({ name }) => trap.slowness > 1 && (trap.slows === 'all' || name !== leader));
    for (const node of slowed) slow(node, trap.slowness);
    exchange.delayUs += trap.latencyUs;
    const release = (): void => {
      for (const open of opens) open();
      for (const node of slowed) slow(node, 1);
      exchange.delayUs = Math.max(0, exchange.delayUs - trap.latencyUs);
      for (const node of restarted) node.crash({ kind: 'process' });
    };
    this.#wait(trap, { group, apart }, release);
  }

  #wait(
    trap: Trap,
    { group, apart }: { readonly group: number; readonly apart: readonly string[] },
    release: () => void,
  ): void {
    const { overhear, simulator } = this.#parts;
    const isNewRound = newRounds();
    let left = trap.skip;
    let isDone = false;
    const end = (): void => {
      isDone = true;
      stop();
    };
    const stop = overhear.listen((heard) => {
      if (isDone || heard.message.group !== group) return;
      if (trap.word === 'round' ? !isNewRound(heard.message) : !isWord(trap.word, heard)) return;
      // A node that does not receive the message has nothing on its disk because of it.
      if (trap.hearer.kind === 'stall' && apart.includes(heard.hearer)) return;
      left -= 1;
      if (left >= 0) return;
      end();
      if (!this.#isOver) this.#strike(trap, heard, release);
    });
    simulator.after(trap.waitUs, 'trap gives up', () => {
      if (isDone) return;
      end();
      if (!this.#isOver) release();
    });
  }

  #strike(trap: Trap, { speaker, hearer }: Heard, release: () => void): void {
    const { simulator } = this.#parts;
    simulator.note(`a trap closes: ${trap.word} of ${speaker} to ${hearer}`);
    this.#hit(speaker, trap.speaker, trap.durationUs);
    this.#hit(hearer, trap.hearer, trap.durationUs);
    const lastUs = Math.max(trap.speaker.delayUs, trap.hearer.delayUs);
    this.#later(lastUs, 'trap releases', release);
  }

  #hit(host: string, { kind, delayUs }: Blow, durationUs: number): void {
    if (kind === 'none') return;
    const node = this.#parts.nodes.find(({ name }) => name === host);
    if (kind === 'power') {
      return this.#later(delayUs, 'trap cuts power', () => node?.crash({ kind: 'power', share: 0 }));
    }
    if (kind === 'stall') return this.#later(delayUs, 'trap stalls', () => node && this.#stall(node, durationUs));
    if (kind === 'held') return this.#holdAnswers(host, node, durationUs);
    const alone = (): void => {
      if (kind === 'asleep') node?.running?.core.pause(durationUs - WAKE_US);
      this.#later(durationUs, 'trap reopens', this.#isolate(host));
    };
    if (delayUs === 0) alone();
    else this.#later(delayUs, 'trap isolates', alone);
  }

  #stall(node: SimNode, durationUs: number): void {
    node.disk.isStalled = true;
    slow(node, WEAKNESS);
    this.#later(durationUs, 'trap lets the disk go on', () => void (node.disk.isStalled = false));
    this.#later(durationUs + WEAK_US, 'trap lets the disk be', () => slow(node, 1));
  }

  /** Suspends the node at once, isolates it when others have answered, and delivers the answers when it wakes up. */
  #holdAnswers(host: string, node: SimNode | undefined, durationUs: number): void {
    const { exchange, simulator } = this.#parts;
    const sleepUs = durationUs - WAKE_US;
    node?.running?.core.pause(sleepUs);
    const letGo = exchange.hold(host, simulator.nowUs + sleepUs + exchange.random.between(1, HEARD_US));
    this.#later(ANSWERED_US, 'trap isolates', () => {
      letGo();
      this.#later(durationUs - ANSWERED_US, 'trap reopens', this.#isolate(host));
    });
  }

  /** Isolates the node from all others, until the returned function is called. */
  #isolate(host: string): () => void {
    const { exchange, nodes } = this.#parts;
    const others = nodes.filter(({ name }) => name !== host);
    const opens = others.flatMap(({ name }) => [exchange.cut(host, name), exchange.cut(name, host)]);
    return () => {
      for (const open of opens) open();
    };
  }

  #later(delayUs: number, label: string, work: () => void): void {
    this.#parts.simulator.after(delayUs, label, () => {
      if (!this.#isOver) work();
    });
  }
}

/** Returns whether a leader starts a new round, compared with its earlier messages. */
function newRounds(): (message: Heard['message']) => boolean {
  const known = new Map<number, number>();
  return ({ kind, term, round }) => {
    if (kind !== 'beat' || round === undefined) return false;
    const before = known.get(term);
    known.set(term, Math.max(round, before ?? 0));
    return before !== undefined && round > before;
  };
}

function isWord(word: Exclude<Word, 'round'>, { message }: Heard): boolean {
  const { kind, isGranted, entries, previous, term } = message;
  const [first] = entries;
  switch (word) {
    case 'vote':
      return kind === 'vote-reply' && isGranted;
    case 'ack':
      return kind === 'append-ack';
    case 'commit':
      return kind === 'commit';
    case 'entries':
      return first !== undefined;
    case 'lead':
      return first?.term === term && previous !== undefined && previous.term < term;
  }
}

function turned(hosts: readonly string[], turn: number): readonly string[] {
  const at = turn % Math.max(1, hosts.length);
  return [...hosts.slice(at), ...hosts.slice(0, at)];
}

function slow(node: SimNode, times: number): void {
  node.disk.slowness = times;
  node.store.slowness = times;
}
