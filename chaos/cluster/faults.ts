/** The kinds of faults of a run, and how they are drawn. The same seed draws the same faults in the same order. */
import type { Rng } from '../../test/simulation/engine/random.ts';

/** Target of a fault: the leader of the probed database, or the node that the drawn number selects. */
export interface Target {
  readonly isLeader: boolean;
  readonly draw: number;
}

/**
 * Kinds of partitions. `unplugged`: the link of the node is down. `isolated`: no other node reaches it, but clients do.
 * `mute`: its messages to other nodes are lost. `deaf`: messages of other nodes to it are lost. `one-link`: two nodes
 * do not reach each other. `half-link`: one node does not reach another.
 */
export type Way = 'unplugged' | 'isolated' | 'mute' | 'deaf' | 'one-link' | 'half-link';

export type Fault =
  /** Kills the processes of one, two or all nodes at once with SIGKILL, and starts them `downMs` later. */
  | { readonly kind: 'kill'; readonly count: 'one' | 'two' | 'all'; readonly target: Target; readonly downMs: number }
  | { readonly kind: 'pause'; readonly target: Target; readonly durationMs: number }
  /** Like `pause`, but longer than leases and fences last: another node has taken over the leaderships meanwhile. */
  | { readonly kind: 'sleep'; readonly target: Target; readonly durationMs: number }
  /** Ends the process with SIGTERM and starts it again: of one node, or of all nodes one after the other. */
  | { readonly kind: 'restart'; readonly isRolling: boolean; readonly target: Target }
  | { readonly kind: 'partition'; readonly way: Way; readonly target: Target; readonly durationMs: number }
  /** Delays messages between the node and the others, and may reset their connections afterwards. */
  | {
      readonly kind: 'slow-link';
      readonly target: Target;
      readonly delayMs: number;
      readonly durationMs: number;
      readonly isLost: boolean;
    }
  /** Delays every sync and write. */
  | { readonly kind: 'slow-disk'; readonly target: Target; readonly delayMs: number; readonly durationMs: number }
  /** Every sync fails: the process must end without losing acknowledged data. */
  | { readonly kind: 'sync-error'; readonly target: Target; readonly error: 'EIO' | 'ENOSPC' }
  /** Fills the disk, so that `leftBytes` remain. */
  | { readonly kind: 'full-disk'; readonly target: Target; readonly leftBytes: number; readonly durationMs: number }
  /** Another node replaces this one: either it runs until it is removed, or its process and volume are lost first. */
  | { readonly kind: 'replace'; readonly target: Target; readonly isDead: boolean }
  /** Sets the wall clock of the node to this offset. */
  | { readonly kind: 'clock'; readonly target: Target; readonly offsetMs: number };

export const NAMES = [
  'kill',
  'kill-two',
  'kill-all',
  'pause',
  'sleep',
  'restart',
  'rolling-restart',
  'partition-unplugged',
  'partition-isolated',
  'partition-mute',
  'partition-deaf',
  'partition-one-link',
  'partition-half-link',
  'slow-link',
  'slow-disk',
  'sync-error',
  'full-disk',
  'clock',
  'replace',
  'replace-dead',
] as const;

/** Names of faults; `expectations.ts` has a minimum for each. */
export type FaultName = (typeof NAMES)[number];

type Cards = Readonly<Partial<Record<FaultName, number>>>;

interface Row {
  readonly name: string;
  /** Number of cards of each name in a deck. */
  readonly cards: Cards;
  readonly pauseMsMean: number;
}

/**
 * Rows of faults, which run in parallel: killed processes, paused and restarted processes, faults of the environment,
 * long pauses, and changes of the membership.
 */
export const ROWS: readonly Row[] = [
  {
    name: 'kills',
    cards: { kill: 19, 'kill-two': 2, 'kill-all': 2 },
    pauseMsMean: 500,
  },
  {
    name: 'stops',
    cards: { pause: 5, restart: 2, 'rolling-restart': 1 },
    pauseMsMean: 10_000,
  },
  {
    name: 'surroundings',
    cards: {
      'partition-unplugged': 2,
      'partition-isolated': 2,
      'partition-mute': 2,
      'partition-deaf': 2,
      'partition-one-link': 2,
      'partition-half-link': 2,
      'slow-link': 2,
      'slow-disk': 3,
      'sync-error': 2,
      'full-disk': 2,
      clock: 2,
    },
    pauseMsMean: 2500,
  },
  // While a node sleeps, a kill of another one would break the majority, and has to wait.
  { name: 'sleepers', cards: { sleep: 1 }, pauseMsMean: 50_000 },
  { name: 'members', cards: { replace: 3, 'replace-dead': 2 }, pauseMsMean: 8000 },
];

/** Maximum number of postponed faults per row. */
const WAITING_MAX = 2;

/**
 * Deck that the faults of a row are drawn from: first one of each name, then all cards, shuffled again each time, so
 * each name comes up soon. A fault that is not allowed yet can be postponed.
 */
export class Deck {
  readonly #random: Rng;
  readonly #cards: Cards;
  #left: readonly FaultName[];
  readonly #waiting: Fault[] = [];
  /** True when the last drawn fault was a postponed one. */
  #hadWaited = false;

  constructor(random: Rng, cards: Cards) {
    this.#random = random;
    this.#cards = cards;
    this.#left = this.#shuffled((count) => Math.min(count, 1));
  }

  /** Postpones the fault until after the next one. Returns false when too many are postponed already. */
  postpone(fault: Fault): boolean {
    if (this.#waiting.length === WAITING_MAX) return false;
    this.#waiting.push(fault);
    return true;
  }

  draw(): Fault {
    const waiting = this.#hadWaited ? undefined : this.#waiting.shift();
    this.#hadWaited = waiting !== undefined;
    if (waiting !== undefined) return waiting;
    if (this.#left.length === 0) this.#left = this.#shuffled((count) => count);
    const [name, ...others] = this.#left;
    if (name === undefined) throw new Error('A row of faults has no cards');
    this.#left = others;
    return drawFault(this.#random.split('fault'), name);
  }

  #shuffled(countOf: (count: number) => number): readonly FaultName[] {
    const names = NAMES.flatMap((name) => Array.from({ length: countOf(this.#cards[name] ?? 0) }, () => name));
    const random = this.#random.split('shuffle');
    return names
      .map((name) => ({ name, place: random.next() }))
      .toSorted((one, other) => one.place - other.place)
      .map(({ name }) => name);
  }
}

export function nameOf(fault: Fault): FaultName {
  if (fault.kind === 'kill') return fault.count === 'one' ? 'kill' : `kill-${fault.count}`;
  if (fault.kind === 'partition') return `partition-${fault.way}`;
  if (fault.kind === 'restart') return fault.isRolling ? 'rolling-restart' : 'restart';
  if (fault.kind === 'replace') return fault.isDead ? 'replace-dead' : 'replace';
  return fault.kind;
}

const MIB = 2 ** 20;
const LEADER_SHARE = 0.45;

const WAYS: Readonly<Record<`partition-${Way}`, Way>> = {
  'partition-unplugged': 'unplugged',
  'partition-isolated': 'isolated',
  'partition-mute': 'mute',
  'partition-deaf': 'deaf',
  'partition-one-link': 'one-link',
  'partition-half-link': 'half-link',
};

function isPartition(name: FaultName): name is keyof typeof WAYS {
  return name in WAYS;
}

function drawFault(drawn: Rng, name: FaultName): Fault {
  const target = { isLeader: drawn.chance(LEADER_SHARE), draw: drawn.next() };
  if (isPartition(name)) {
    return { kind: 'partition', way: WAYS[name], target, durationMs: drawn.between(300, 3000) };
  }
  switch (name) {
    case 'kill':
      return { kind: 'kill', count: 'one', target, downMs: drawn.between(0, 800) };
    case 'kill-two':
      return { kind: 'kill', count: 'two', target, downMs: drawn.between(0, 800) };
    case 'kill-all':
      return { kind: 'kill', count: 'all', target, downMs: drawn.between(0, 800) };
    case 'pause':
      return { kind: name, target, durationMs: drawn.between(200, 4000) };
    case 'sleep':
      return { kind: name, target, durationMs: drawn.between(11_000, 20_000) };
    case 'restart':
    case 'rolling-restart':
      return { kind: 'restart', isRolling: name === 'rolling-restart', target };
    case 'slow-link': {
      const delayMs = drawn.pick([5, 40, 200, 1000]);
      return { kind: name, target, delayMs, durationMs: drawn.between(1000, 4000), isLost: drawn.chance(0.5) };
    }
    case 'slow-disk':
      return { kind: name, target, delayMs: drawn.pick([5, 50, 300]), durationMs: drawn.between(1000, 4000) };
    case 'sync-error':
      return { kind: name, target, error: drawn.pick(['EIO', 'ENOSPC']) };
    case 'full-disk': {
      const leftBytes = drawn.pick([0, 4 * MIB, 16 * MIB]);
      return { kind: name, target, leftBytes, durationMs: drawn.between(1000, 4000) };
    }
    case 'replace':
    case 'replace-dead':
      return { kind: 'replace', target, isDead: name === 'replace-dead' };
    case 'clock': {
      const offsetMs = drawn.pick([-3_600_000, -60_000, -1000, -50, 0, 50, 1000, 60_000, 3_600_000]);
      return { kind: name, target, offsetMs };
    }
  }
}
