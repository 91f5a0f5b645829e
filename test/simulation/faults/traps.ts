// Faults that aim. Most mistakes of a replicated log show only when the right node fails in the right millisecond: the
// one that has just given a promise, and the one that relies on it. A trap waits for a word that one node says to
// another, and then strikes both; until then it keeps some of the others apart, and slows disks down.
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { PeerExchange } from '../peers/exchange.ts';
import type { Heard, Overhear } from './overhear.ts';

/** A vote, an acknowledgement of entries, a commit index, entries, the first of a term, a new round of confirmation. */
export type Word = 'vote' | 'ack' | 'commit' | 'entries' | 'lead' | 'round';

/**
 * What becomes of a node: nothing; it loses its power and whatever is not synced; no other node hears it, nor it them;
 * the same, and its core stands still until shortly before the end of that; the same, and what was answered to its last
 * words reaches it when it goes on; or the disk of its log stands still, and is slow for a while after that.
 */
export interface Blow {
  readonly kind: 'none' | 'power' | 'alone' | 'asleep' | 'held' | 'stall';
  /** After the word; alone with 0, it is cut off before the word gets out. */
  readonly delayUs: number;
}

export interface Trap {
  readonly kind: 'trap';
  /** Of the groups with several members, which. */
  readonly group: number;
  readonly word: Word;
  /** Such words that go by before. */
  readonly skip: number;
  /** Who is kept apart until then: as many as the others can do without. */
  readonly apart: 'nobody' | 'leader' | 'followers';
  /** Which of the followers, if some are. */
  readonly turn: number;
  /** Whether their processes are other ones when they come back. */
  readonly restarts: boolean;
  /** How much slower the disks of followers, or of all, are meanwhile, and how long messages take, on average. */
  readonly slowness: number;
  readonly slows: 'followers' | 'all';
  readonly latencyUs: number;
  readonly speaker: Blow;
  readonly hearer: Blow;
  /** How long it waits, and how long whoever is alone stays so. */
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
/** Whoever is asked has answered by then; and the answer comes so long after the waking, at most. */
const ANSWERED_US = 10 * MILLISECOND_US;
const HEARD_US = 20 * MILLISECOND_US;
/** A disk that stood still is slow for so long, and so slow. */
const WEAK_US = 2000 * MILLISECOND_US;
const WEAKNESS = 100;
/** Several of these take as long as an election window. */
const CROSSING_US = 300 * MILLISECOND_US;
const NONE: Blow = { kind: 'none', delayUs: 0 };
const POWER: Blow = { kind: 'power', delayUs: 0 };
const ALONE: Blow = { kind: 'alone', delayUs: 0 };
const ASLEEP: Blow = { kind: 'asleep', delayUs: 0 };
/** When the word has been heard and believed. */
const ALONE_AFTER: Blow = { kind: 'alone', delayUs: 3 * MILLISECOND_US };
/** What breaks whose promise, in a world in which it matters. */
const AIMS: readonly [Aim, ...Aim[]] = [
  // Forgets a vote that has won an election, and is asked again.
  { word: 'vote', apart: 'leader', restarts: true, speaker: POWER, hearer: ALONE_AFTER, slowness: 30 },
  // Forgets an entry that was committed because it had it.
  { word: 'ack', apart: 'followers', restarts: false, speaker: POWER, hearer: ALONE_AFTER, slowness: 300 },
  // Those who lack what was committed meet, without the one who has committed it.
  { word: 'ack', apart: 'followers', restarts: false, speaker: NONE, hearer: ALONE_AFTER, slowness: 1 },
  // A leader that commits alone, and answers as if it still led.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ALONE, hearer: NONE, slowness: 1 },
  // A leader that wakes up to requests of the time in which others took its place.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ASLEEP, hearer: NONE, slowness: 1 },
  // Its heirs have what it has committed, do not know so, and take long to find out.
  { word: 'commit', apart: 'nobody', restarts: false, speaker: ALONE, hearer: NONE, slowness: 300 },
  // A leader that has just begun, and then another one.
  { word: 'lead', apart: 'leader', restarts: false, speaker: ALONE, hearer: NONE, slowness: 30 },
  // Candidates of one term, whose requests cross.
  { word: 'lead', apart: 'leader', restarts: false, speaker: NONE, hearer: NONE, slowness: 1, latencyUs: CROSSING_US },
];
/** Of the names: somebody does not hear that one is there, or gone, and goes on answering. */
const NAME_AIMS: readonly [Aim, ...Aim[]] = [
  { group: 0, word: 'entries', apart: 'nobody', restarts: false, speaker: NONE, hearer: ALONE, slowness: 1 },
  { group: 0, word: 'commit', apart: 'nobody', restarts: false, speaker: NONE, hearer: ALONE, slowness: 1 },
  { group: 0, word: 'entries', apart: 'nobody', restarts: false, speaker: ALONE_AFTER, hearer: NONE, slowness: 1 },
];

/** What takes longer than an election, and then counts for what came meanwhile. */
const LATE_AIMS: readonly [Aim, ...Aim[]] = [
  // The answer to a question of before reaches a leader of the past together with reads that came since.
  { word: 'round', apart: 'nobody', restarts: false, speaker: { kind: 'held', delayUs: 0 }, hearer: NONE, slowness: 1 },
  // The disk writes entries that nobody else has any more, while others take their place.
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

/** What a seed's traps close on, mostly: anything, the catalog, or what takes longer than an election. */
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

/** Long enough for somebody else to be elected. */
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

  /** Nothing strikes any more. */
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
      // Whoever does not hear it has nothing on its disk because of it.
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

  /** It sleeps at once, is cut off when others have answered it, and finds the answers when it wakes. */
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

  /** No other node hears it, nor it them, until the function that is returned is called. */
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

/** Whether a leader begins a round, as told from what it said before. */
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
