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

export const WAYS = ['unplugged', 'isolated', 'mute', 'deaf', 'one-link', 'half-link'] as const;

/**
 * How a network is cut: a node without its link; a node that no other reaches though clients do; one whose words do not
 * arrive; one that hears nothing; two nodes that do not reach each other; one that does not reach another.
 */
export type Way = (typeof WAYS)[number];

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

export type FaultKind = Fault['kind'];

type Weights = Readonly<Partial<Record<FaultKind, number>>>;

/**
 * Faults come in rows, which go on side by side: what ends or stops processes, what is around them, who stands still
 * for long, and who belongs there.
 */
export const ROWS: readonly { readonly name: string; readonly weights: Weights; readonly pauseMsMean: number }[] = [
  { name: 'processes', weights: { kill: 75, pause: 18, restart: 7 }, pauseMsMean: 500 },
  {
    name: 'surroundings',
    weights: { partition: 54, 'slow-link': 8, 'slow-disk': 12, 'sync-error': 8, 'full-disk': 9, clock: 9 },
    pauseMsMean: 2000,
  },
  { name: 'sleepers', weights: { sleep: 1 }, pauseMsMean: 25_000 },
  { name: 'members', weights: { replace: 1 }, pauseMsMean: 8000 },
];

const MIB = 2 ** 20;
const LEADER_SHARE = 0.45;

export function drawFault(random: Rng, weights: Weights): Fault {
  const drawn = random.split('fault');
  const target = { isLeader: drawn.chance(LEADER_SHARE), draw: drawn.next() };
  const kind = drawKind(drawn, weights);
  switch (kind) {
    case 'kill': {
      const draw = drawn.share();
      const count = draw < 0.84 ? 'one' : draw < 0.92 ? 'two' : 'all';
      return { kind, count, target, downMs: drawn.between(0, 800) };
    }
    case 'pause':
      return { kind, target, durationMs: drawn.between(200, 4000) };
    case 'sleep':
      return { kind, target, durationMs: drawn.between(11_000, 20_000) };
    case 'restart':
      return { kind, isRolling: drawn.chance(0.4), target };
    case 'partition':
      return { kind, way: drawn.pick(WAYS), target, durationMs: drawn.between(300, 3000) };
    case 'slow-link': {
      const delayMs = drawn.pick([5, 40, 200, 1000]);
      return { kind, target, delayMs, durationMs: drawn.between(1000, 4000), isLost: drawn.chance(0.5) };
    }
    case 'slow-disk':
      return { kind, target, delayMs: drawn.pick([5, 50, 300]), durationMs: drawn.between(1000, 4000) };
    case 'sync-error':
      return { kind, target, error: drawn.pick(['EIO', 'ENOSPC']) };
    case 'full-disk':
      return { kind, target, leftBytes: drawn.pick([0, 4 * MIB, 16 * MIB]), durationMs: drawn.between(1000, 4000) };
    case 'replace':
      return { kind, target, isDead: drawn.chance(0.4) };
    case 'clock': {
      const offsetMs = drawn.pick([-3_600_000, -60_000, -1000, -50, 0, 50, 1000, 60_000, 3_600_000]);
      return { kind, target, offsetMs };
    }
  }
}

function drawKind(random: Rng, weights: Weights): FaultKind {
  const entries = Object.entries(weights) as readonly [FaultKind, number][];
  let place = random.share() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of entries) {
    place -= weight;
    if (place < 0) return kind;
  }
  throw new Error('no kind of fault has any weight');
}
