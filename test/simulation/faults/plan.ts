// The plan of a run: the list of its faults, drawn before the start, so that one can be removed without changing the
// others.
import type { Armed, StepKind } from '../disk/sim-disk.ts';
import type { Rng } from '../engine/random.ts';
import type { NetworkConditions } from '../network.ts';
import type { Ending } from '../node/sim-node.ts';
import type { PeerConditions } from '../peers/exchange.ts';
import { drawHarm, type LaneHarm } from '../peers/lane-harm.ts';
import { drawInterception, type Interception } from './interception.ts';
import { drawLostSegment, type LostSegment } from './lost-segments.ts';
import { drawAbsence, drawOperatorAction, drawUpgradeSteps, type OperatorAction } from './operator.ts';
import { drawRecovery, type Recovery } from './recovery.ts';
import { drawRefounding, type Refounding } from './refounding.ts';
import { drawResizing, type Resizing } from './resizing.ts';
import { drawReturn, type Return } from './returning.ts';
import {
  drawLostRows,
  drawSpoiledHistory,
  drawStoreCut,
  type LostRows,
  type SpoiledHistory,
  type StoreCut,
} from './store-cuts.ts';
import { drawTrap, type Trap, type TrapMood } from './traps.ts';

export const FAULT_KINDS = [
  'crash',
  'cut',
  'disk-error',
  'store-error',
  'full',
  'slow',
  'pause',
  'clock',
  'network',
  'one-way',
  'drain',
  'rot',
  'birth',
  'again',
] as const;

/** Only with several nodes. */
export const CLUSTER_FAULT_KINDS = ['partition', 'peer-network', 'move'] as const;

/** Only where clients check that shown revisions never go back: nodes get replicas, and lose what they have shown. */
export const SHOWN_FAULT_KINDS = ['move', 'behind', 'behind', 'partition'] as const;

/** Only where databases return to nodes that they have just left. */
export const RETURNED_FAULT_KINDS = ['return', 'return', 'move'] as const;

/** Only with the real lanes, in aimed seeds. */
export const LANE_FAULT_KINDS = ['lane-harm'] as const;

/** Number of nodes with which the catalog has a quorum when two are down. */
const RECOVERING_NODES = 5;
const INTERCEPTED_SHARE = 0.3;
const ABSENT_SHARE = 0.25;
const LEDGER_SHARE = 0.2;

/** Only for a single node in aimed seeds: faults that a restart must handle. */
export const AIMED_FAULT_KINDS = ['rot', 'birth', 'again', 'stall', 'decay', 'loss'] as const;

/** The same in a quarter of those seeds: faults of written, unsynced data. */
export const UNSYNCED_FAULT_KINDS = ['unsynced'] as const;

export type FaultKind =
  | (typeof FAULT_KINDS)[number]
  | (typeof CLUSTER_FAULT_KINDS)[number]
  | (typeof SHOWN_FAULT_KINDS)[number]
  | (typeof RETURNED_FAULT_KINDS)[number]
  | (typeof LANE_FAULT_KINDS)[number]
  | (typeof AIMED_FAULT_KINDS)[number]
  | (typeof UNSYNCED_FAULT_KINDS)[number];

export type FaultAction =
  /** The process or machine ends, between two events. */
  | { readonly kind: 'crash'; readonly ending: Ending }
  /** It ends within a call of the disk, after a number of other calls. */
  | { readonly kind: 'cut'; readonly ending: Ending; readonly armed: Armed }
  /** A call of the disk fails, or is truncated. */
  | { readonly kind: 'disk-error'; readonly armed: Armed }
  | { readonly kind: 'store-error'; readonly afterWrites: number }
  /** The power fails twice with these surviving shares; the second time after the next process has written a little. */
  | { readonly kind: 'again'; readonly shares: readonly [number, number]; readonly afterWrites: number }
  /** Other data fills the disk. */
  | { readonly kind: 'full'; readonly freeBytes: number; readonly durationUs: number }
  | { readonly kind: 'slow'; readonly times: number; readonly durationUs: number }
  /** Only the log's disk becomes slower; then the process or machine ends, or the process drains. */
  | { readonly kind: 'stall'; readonly times: number; readonly durationUs: number; readonly ending: Ending | undefined }
  /** The power fails without unsynced data surviving, and the store is slow to catch up. */
  | { readonly kind: 'behind'; readonly times: number; readonly durationUs: number }
  | { readonly kind: 'pause'; readonly thread: 'front' | 'core' | 'log' | 'all'; readonly durationUs: number }
  | { readonly kind: 'clock'; readonly byMs: number }
  | { readonly kind: 'network'; readonly conditions: NetworkConditions; readonly durationUs: number }
  /** Requests reach the node and answers do not, or the other way round. */
  | { readonly kind: 'one-way'; readonly isAnswers: boolean; readonly durationUs: number }
  /** The nodes with these indexes are suspended for some time, so that they cannot take over leaderships. */
  | { readonly kind: 'drain'; readonly deaf: readonly number[]; readonly deafUs: number; readonly isRepeated: boolean }
  /** Blocks the direction from the first to the second node of each pair, by index. */
  | { readonly kind: 'partition'; readonly ways: readonly (readonly [number, number])[]; readonly durationUs: number }
  | { readonly kind: 'peer-network'; readonly conditions: PeerConditions; readonly durationUs: number }
  /** Targeted faults of connections between nodes. */
  | { readonly kind: 'lane-harm'; readonly harm: LaneHarm; readonly durationUs: number }
  /** Moves one of the databases to these nodes. */
  | { readonly kind: 'move'; readonly database: number; readonly nodes: readonly number[] }
  | Resizing
  | Return
  | Interception
  | Trap
  | OperatorAction
  | Recovery
  | Refounding
  | StoreCut
  | LostRows
  | SpoiledHistory
  | LostSegment
  /** The disk silently damages its content; later it is restored from a backup. */
  | {
      readonly kind: 'rot';
      readonly where: RotPlace;
      /** End of the process soon afterwards, if any. */
      readonly ending: Ending | undefined;
      readonly durationUs: number;
    };

export type RotPlace = 'log' | 'guard' | 'ledger' | 'store' | 'misdirected' | 'lost';

export interface Fault {
  readonly number: number;
  readonly atUs: number;
  /** Index of the affected node, for faults of one node. */
  readonly node: number;
  readonly action: FaultAction;
}

/** Kinds, rates and durations of faults. */
export interface FaultRanges {
  readonly faultKinds: readonly FaultKind[];
  /** Mean time between two faults; infinite for none. */
  readonly faultUsMean: number;
  /** Duration of the phase with faults. */
  readonly safetyUs: number;
  /** Maximum duration of a fault. */
  readonly durationMsMax: number;
  readonly nodeCount: number;
}

export function drawFaults(random: Rng, ranges: FaultRanges): readonly Fault[] {
  const faults: Fault[] = [];
  const [first, ...others] = ranges.faultKinds;
  if (first === undefined) return faults;
  let atUs = random.exponential(ranges.faultUsMean);
  while (atUs < ranges.safetyUs) {
    const drawn = random.split(`fault ${faults.length}`);
    const action = drawAction(random.pick([first, ...others]), drawn, ranges);
    const node = drawn.between(0, ranges.nodeCount - 1);
    faults.push({ number: faults.length, atUs: Math.round(atUs), node, action });
    atUs += random.exponential(ranges.faultUsMean);
  }
  return faults;
}

/** Only with `--cuts`. */
const CUT_US_MEAN = 4_000_000;
const LOST_US_MEAN = 5_000_000;
const SPOILED_US_MEAN = 15_000_000;
/** Only with `--resized`. */
const RESIZED_US_MEAN = 2_500_000;

interface CutRanges extends Pick<FaultRanges, 'safetyUs' | 'nodeCount'> {
  /** Number of the first fault. */
  readonly first: number;
}

/** Store cuts have separate random streams and numbers, so that the other faults stay unchanged. */
export function drawStoreCuts(random: Rng, ranges: CutRanges): readonly Fault[] {
  return drawnEvery(CUT_US_MEAN, random, ranges, drawStoreCut);
}

/** The same for lost segments, which follow the store cuts in the plan. */
export function drawLostSegments(random: Rng, ranges: CutRanges): readonly Fault[] {
  return drawnEvery(LOST_US_MEAN, random, ranges, drawLostSegment);
}

/** The same for lost rows, which follow the lost segments. */
export function drawLosses(random: Rng, ranges: CutRanges): readonly Fault[] {
  return drawnEvery(LOST_US_MEAN, random, ranges, drawLostRows);
}

/** The same for damaged histories, which follow the lost rows. */
export function drawSpoiledHistories(random: Rng, ranges: CutRanges): readonly Fault[] {
  return drawnEvery(SPOILED_US_MEAN, random, ranges, drawSpoiledHistory);
}

/** Only with `--resized`; with separate streams and numbers, too. */
export function drawResizings(random: Rng, ranges: CutRanges): readonly Fault[] {
  return drawnEvery(RESIZED_US_MEAN, random, ranges, drawResizing);
}

/** Each affects one node. */
function drawnEvery(
  usMean: number,
  random: Rng,
  { safetyUs, nodeCount, first }: CutRanges,
  draw: (random: Rng) => Fault['action'],
): readonly Fault[] {
  const faults: Fault[] = [];
  for (let atUs = random.exponential(usMean); atUs < safetyUs; atUs += random.exponential(usMean)) {
    const action = draw(random);
    const node = random.between(0, nodeCount - 1);
    faults.push({ number: first + faults.length, atUs: Math.round(atUs), node, action });
  }
  return faults;
}

interface TrapRanges extends Pick<FaultRanges, 'safetyUs'> {
  readonly trapUsMean: number;
  readonly mood: TrapMood;
  /** Number of the first fault. */
  readonly first: number;
}

/** Traps have separate random streams and numbers, and follow the other faults, which therefore stay unchanged. */
export function drawTraps(random: Rng, { trapUsMean, safetyUs, mood, first }: TrapRanges): readonly Fault[] {
  const faults: Fault[] = [];
  for (let atUs = random.exponential(trapUsMean); atUs < safetyUs; atUs += random.exponential(trapUsMean)) {
    const action = drawTrap(random.split(`trap ${faults.length}`), mood);
    faults.push({ number: first + faults.length, atUs: Math.round(atUs), node: 0, action });
  }
  return faults;
}

/** At most two, because each takes long; with separate streams and numbers, like traps. */
export function drawOperatorFaults(
  random: Rng,
  { safetyUs, nodeCount, first }: { readonly safetyUs: number; readonly nodeCount: number; readonly first: number },
): readonly Fault[] {
  const count = random.pick([0, 0, 1, 2]);
  const faults = Array.from({ length: count }, (_, place) => {
    const atUs = random.between(0, Math.round(safetyUs / 2));
    const node = random.between(0, nodeCount - 1);
    return { number: first + place, atUs, node, action: drawOperatorAction(random) };
  });
  const steps = drawUpgradeSteps(random, nodeCount);
  return faults.map((fault) =>
    fault.action.kind === 'upgrade' ? { ...fault, action: { ...fault.action, steps } } : fault,
  );
}

/** For clusters whose catalog works without two nodes; with separate streams and numbers, too. */
export function drawRecoveries(
  random: Rng,
  { safetyUs, nodeCount, first }: { readonly safetyUs: number; readonly nodeCount: number; readonly first: number },
): readonly Fault[] {
  if (nodeCount < RECOVERING_NODES || random.chance(0.25)) return [];
  const atUs = random.between(0, Math.round(safetyUs / 2));
  return [{ number: first, atUs, node: 0, action: drawRecovery(random) }];
}

/** For some of the clusters that work without two nodes; with separate streams and numbers, too. */
export function drawAbsences(
  random: Rng,
  { safetyUs, nodeCount, first }: { readonly safetyUs: number; readonly nodeCount: number; readonly first: number },
): readonly Fault[] {
  if (nodeCount < RECOVERING_NODES || !random.chance(ABSENT_SHARE)) return [];
  // Silent nodes are given up slowly, so the absence starts early.
  const atUs = random.between(0, Math.round(safetyUs / 4));
  return [{ number: first, atUs, node: random.between(0, nodeCount - 1), action: drawAbsence(random) }];
}

/** For clusters with nodes that lack a replica; from a separate stream. */
export function drawInterceptions(
  random: Rng,
  { safetyUs, isStory, first }: { readonly safetyUs: number; readonly isStory: boolean; readonly first: number },
): readonly Fault[] {
  if (!isStory && !random.chance(INTERCEPTED_SHARE)) return [];
  const usMean = random.pick([2, 4, 8]) * 1_000_000;
  const faults: Fault[] = [];
  for (let atUs = random.exponential(usMean); atUs < safetyUs; atUs += random.exponential(usMean)) {
    const action = drawInterception(random.split(`interception ${faults.length}`));
    faults.push({ number: first + faults.length, atUs: Math.round(atUs), node: 0, action });
  }
  return faults;
}

/** After the end of the other faults. */
export function drawRefoundings(
  random: Rng,
  { atUs, first }: { readonly atUs: number; readonly first: number },
): readonly Fault[] {
  return [{ number: first, atUs, node: 0, action: drawRefounding(random) }];
}

/** Kinds of faults that leave disks and stores undamaged, as founding a cluster from the remains requires. */
export const WHOLE_FAULT_KINDS: readonly FaultKind[] = [
  'crash',
  'cut',
  'again',
  'slow',
  'pause',
  'clock',
  'network',
  'one-way',
  'drain',
  'partition',
  'peer-network',
  'move',
];

function drawAction(kind: FaultKind, random: Rng, { durationMsMax, nodeCount }: FaultRanges): FaultAction {
  const durationUs = random.between(1, durationMsMax) * 1000;
  switch (kind) {
    case 'crash':
      return { kind, ending: drawEnding(random) };
    case 'cut':
      return { kind, ending: drawEnding(random), armed: drawArmed('cut', random) };
    case 'unsynced': {
      const armed = { kinds: ['sync'], path: '.wal', after: 0 } as const;
      return random.chance(0.5)
        ? { kind: 'cut', ending: { kind: 'process' }, armed: { mishap: 'cut', ...armed } }
        : { kind: 'disk-error', armed: { mishap: 'error', ...armed } };
    }
    case 'birth':
      // Between the naming of a segment and the next write to it.
      return {
        kind: 'cut',
        ending: drawPower(random),
        armed: { mishap: 'cut', since: 'rename', after: random.between(0, 2) },
      };
    case 'again':
      return { kind, shares: [drawPower(random).share, drawPower(random).share], afterWrites: random.between(0, 8) };
    case 'disk-error':
      return { kind, armed: drawArmed(random.chance(0.3) ? 'short' : 'error', random) };
    case 'store-error':
      return { kind, afterWrites: random.between(0, 5) };
    case 'full':
      return { kind, freeBytes: random.between(0, 300) * 1024, durationUs };
    case 'slow':
      return { kind, times: random.pick([10, 100, 1000]), durationUs };
    case 'stall':
      return {
        kind,
        times: random.pick([100, 300, 1000]),
        durationUs,
        ending: random.chance(0.3) ? undefined : drawEnding(random),
      };
    case 'behind':
      return { kind, times: random.pick([300, 1000, 3000]), durationUs };
    case 'pause': {
      const thread = random.pick<'front' | 'core' | 'log' | 'all'>(['front', 'core', 'log', 'all']);
      return { kind, thread, durationUs: random.chance(0.1) ? 5_000_000 : random.between(1, 1000) * 1000 };
    }
    case 'clock':
      return { kind, byMs: random.pick([-3_600_000, -1000, -5, 5, 1000, 3_600_000]) };
    case 'network':
      return { kind, conditions: drawConditions(random), durationUs };
    case 'one-way':
      return { kind, isAnswers: random.chance(0.5), durationUs };
    case 'drain':
      return drawDrain(random, nodeCount);
    case 'partition':
      return { kind, ways: drawWays(random, nodeCount), durationUs };
    case 'peer-network':
      return { kind, conditions: drawPeerConditions(random), durationUs };
    case 'lane-harm':
      return { kind, harm: drawHarm(random), durationUs };
    case 'move':
      return { kind, database: random.between(0, 9), nodes: drawHolders(random, nodeCount) };
    case 'return':
      return drawReturn(random);
    case 'decay':
      // In the data that only the log has by then.
      return { kind: 'rot', where: 'log', ending: { kind: 'power', share: 0 }, durationUs: durationUs + 500_000 };
    case 'loss':
      return { kind: 'rot', where: 'lost', ending: undefined, durationUs: durationUs + 500_000 };
    case 'rot':
      return drawRot(random, durationUs + 500_000);
  }
}

function drawRot(random: Rng, durationUs: number): FaultAction {
  const where = random.pick<RotPlace>(['log', 'log', 'guard', 'ledger', 'store', 'misdirected', 'lost']);
  return { kind: 'rot', where, ending: random.chance(0.7) ? drawEnding(random) : undefined, durationUs };
}

/** A share of the unsynced data survives. */
function drawPower(random: Rng): Extract<Ending, { readonly kind: 'power' }> {
  return { kind: 'power', share: random.pick([0.3, 0.5, 0.7]) };
}

function drawEnding(random: Rng): Ending {
  return random.chance(0.4) ? { kind: 'process' } : { kind: 'power', share: random.pick([0, 0.3, 0.7, 1]) };
}

const ALL_STEPS: readonly [StepKind, ...StepKind[]] = ['write', 'sync', 'rename', 'sync-directory', 'create', 'remove'];

function drawArmed(mishap: Armed['mishap'], random: Rng): Armed {
  const after = random.between(0, 12);
  // The ledger is written rarely.
  if (random.chance(LEDGER_SHARE)) return { mishap, path: 'ledger', after: after % 4 };
  if (mishap === 'short') return { mishap, kinds: ['write'], after };
  if (random.chance(0.4)) return { mishap, after };
  const kind = random.pick(ALL_STEPS);
  // Names only change when a segment is created or removed.
  const isUsual = kind === 'write' || kind === 'sync';
  return { mishap, kinds: [kind], after: isUsual ? Math.floor(after / 2) : after % 2 };
}

/** One isolated node, two nodes without a link, or two sides; in one or both directions. */
function drawWays(random: Rng, nodeCount: number): readonly (readonly [number, number])[] {
  const places = Array.from({ length: nodeCount }, (_, place) => place);
  const size = random.chance(0.6) ? 1 : random.between(1, nodeCount - 1);
  const side = drawSome(random, places, size);
  const far = random.chance(0.3)
    ? drawSome(
        random,
        places.filter((place) => !side.includes(place)),
        1,
      )
    : places;
  const direction = random.between(0, 3);
  return side.flatMap((near) =>
    far
      .filter((other) => !side.includes(other))
      .flatMap((other): readonly (readonly [number, number])[] => {
        if (direction === 0) return [[near, other]];
        if (direction === 1) return [[other, near]];
        return [
          [near, other],
          [other, near],
        ];
      }),
  );
}

function drawPeerConditions(random: Rng): PeerConditions {
  return {
    latencyUsMean: random.pick([200, 5000, 50_000, 300_000]),
    lossShare: random.pick([0, 0.02, 0.2]),
    duplicateShare: random.pick([0, 0.1, 0.5]),
    reorderShare: random.pick([0, 0.1, 0.5]),
    flipShare: random.pick([0, 0, 0.05, 0.2]),
  };
}

/** One to three of the nodes. */
function drawHolders(random: Rng, nodeCount: number): readonly number[] {
  const places = Array.from({ length: nodeCount }, (_, place) => place);
  const count = random.chance(0.7) ? Math.min(3, nodeCount) : random.between(1, Math.min(3, nodeCount));
  return drawSome(random, places, count);
}

/** With several nodes, every second time one or two do not answer meanwhile. */
function drawDrain(random: Rng, nodeCount: number): FaultAction {
  const places = Array.from({ length: nodeCount }, (_, place) => place);
  const deaf = nodeCount > 1 && random.chance(0.5) ? drawSome(random, places, random.between(1, 2)) : [];
  const deafUs = deaf.length === 0 ? 0 : random.between(100, 4000) * 1000;
  return { kind: 'drain', deaf, deafUs, isRepeated: random.chance(0.2) };
}

function drawSome(random: Rng, places: readonly number[], count: number): readonly number[] {
  let left = places;
  const drawn: number[] = [];
  while (drawn.length < count && left.length > 0) {
    const place = random.pickFrom(left) ?? 0;
    drawn.push(place);
    left = left.filter((each) => each !== place);
  }
  return drawn.toSorted((one, other) => one - other);
}

function drawConditions(random: Rng): NetworkConditions {
  return {
    latencyUsMean: random.pick([200, 5000, 50_000]),
    lossShare: random.pick([0, 0.05, 0.3]),
    duplicateShare: random.pick([0, 0.1, 0.5]),
  };
}
