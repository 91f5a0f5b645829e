/**
 * What is done to the nodes of a run: kinds, and how they are drawn. The same seed draws the same faults in the same
 * order.
 */
import type { Rng } from '../../test/simulation/engine/random.ts';

/** Which node a fault is for: the one that leads the probed database, or any, by a drawn number. */
export interface Target {
  readonly isLeader: boolean;
  readonly draw: number;
}

/**
 * How a network is cut: a node without its link; a node that no other reaches though clients do; one whose words do not
 * arrive; one that hears nothing; two nodes that do not reach each other; one that does not reach another.
 */
export type Way = 'unplugged' | 'isolated' | 'mute' | 'deaf' | 'one-link' | 'half-link';

export type Fault =
  /** SIGKILL to so many at once, and a start after some time. */
  | { readonly kind: 'kill'; readonly count: 'one' | 'two' | 'all'; readonly target: Target; readonly downMs: number }
  | { readonly kind: 'pause'; readonly target: Target; readonly durationMs: number }
  /** The same for longer than leases and fences last: what the node led, or was sure of, is somebody else's by then. */
  | { readonly kind: 'sleep'; readonly target: Target; readonly durationMs: number }
  /** SIGTERM, and a start: of one node, or of all, one after the other. */
  | { readonly kind: 'restart'; readonly isRolling: boolean; readonly target: Target }
  | { readonly kind: 'partition'; readonly way: Way; readonly target: Target; readonly durationMs: number }
  /** What a node and the others say to each other takes so long, and perhaps all their connections are lost then. */
  | {
      readonly kind: 'slow-link';
      readonly target: Target;
      readonly delayMs: number;
      readonly durationMs: number;
      readonly isLost: boolean;
    }
  /** Every sync and write takes so much longer. */
  | { readonly kind: 'slow-disk'; readonly target: Target; readonly delayMs: number; readonly durationMs: number }
  /** Every sync fails: the process must end, and lose nothing that it answered. */
  | { readonly kind: 'sync-error'; readonly target: Target; readonly error: 'EIO' | 'ENOSPC' }
  /** Somebody else takes the disk, up to some bytes. */
  | { readonly kind: 'full-disk'; readonly target: Target; readonly leftBytes: number; readonly durationMs: number }
  /** Another node takes the place of one, which is there until it has moved, or has lost its process and its volume. */
  | { readonly kind: 'replace'; readonly target: Target; readonly isDead: boolean }
  /** The clock of a node is so far off from now on. */
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

/** What a run is to have had some of. */
export type FaultName = (typeof NAMES)[number];

type Cards = Readonly<Partial<Record<FaultName, number>>>;

interface Row {
  readonly name: string;
  /** How many of each name there are in a deck. */
  readonly cards: Cards;
  readonly pauseMsMean: number;
}

/**
 * Faults come in rows, which go on side by side: what ends processes, what stops them, what is around them, who stands
 * still for long, and who belongs there.
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
  // While a node sleeps, a kill of another takes the majority away, and waits for its turn.
  { name: 'sleepers', cards: { sleep: 1 }, pauseMsMean: 50_000 },
  { name: 'members', cards: { replace: 3, 'replace-dead': 2 }, pauseMsMean: 8000 },
];

/** So many faults of a row wait for their time at most, while others are done. */
const WAITING_MAX = 2;

/**
 * The faults of a row, one after the other: first one of each name, then as many as its cards say, again and again,
 * each time in another order. So none is long in coming. One that may not be done yet can let others go first.
 */
export class Deck {
  readonly #random: Rng;
  readonly #cards: Cards;
  #left: readonly FaultName[];
  readonly #waiting: Fault[] = [];
  /** Whether the last one that was drawn had waited. */
  #hadWaited = false;

  constructor(random: Rng, cards: Cards) {
    this.#random = random;
    this.#cards = cards;
    this.#left = this.#shuffled((count) => Math.min(count, 1));
  }

  /** Takes a fault back, to be drawn after the next one. False: others wait already, and it is their turn. */
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
