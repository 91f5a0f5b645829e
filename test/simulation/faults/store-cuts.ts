// Faults of the store. The process ends before, and another one starts with the rest.
//
// In the first one the log of LevelDB is truncated, like one with an unreadable end, so that the last writes are
// silently gone, synced or not. The next process applies the missing entries again from its own log, and makes
// databases again that have lost more (`#cluster`, crash-recovery.ts). If it refuses to start, its files are restored
// from a backup after a while. The loss can be distinguished from a power failure, which keeps every synced write.
//
// In the second one, after a power failure, databases have lost their applied rows, or all of their rows. The next
// process must make them again from histories and log, and nothing is restored.
//
// In the third one, a database has also a damaged segment. Other replicas must replace this one where they can; after a
// while its files are restored from a backup.
import type { Rng } from '../engine/random.ts';

export interface StoreCut {
  readonly kind: 'store-cut';
  /** Number of lost writes; all if there are fewer. */
  readonly writes: number;
  /** Time until an operator restores the store, if the node has not continued. */
  readonly durationUs: number;
}

export interface LostRows {
  readonly kind: 'lost-rows';
  readonly rows: 'applied' | 'all';
  /** A random database, or each with this probability. */
  readonly databases: 'one' | number;
  /** Share of the unsynced data that survives the preceding power failure. */
  readonly share: number;
}

export interface SpoiledHistory {
  readonly kind: 'spoiled-history';
  /** Share of the unsynced data that survives the preceding power failure. */
  readonly share: number;
  /** Time until an operator restores the store, if the replica was not replaced. */
  readonly durationUs: number;
}

const WRITES = [1, 3, 10, 30, 100, 300, 1000] as const;
const LASTS_US = { min: 500_000, max: 4_000_000 } as const;
const REPLACED_US = { min: 5_000_000, max: 40_000_000 } as const;

export function drawStoreCut(random: Rng): StoreCut {
  return { kind: 'store-cut', writes: random.pick(WRITES), durationUs: random.between(LASTS_US.min, LASTS_US.max) };
}

export function drawLostRows(random: Rng): LostRows {
  return {
    kind: 'lost-rows',
    rows: random.pick(['applied', 'all']),
    databases: random.pick<LostRows['databases']>(['one', 0.5, 1]),
    share: random.pick([0, 0.3, 0.7, 1]),
  };
}

export function drawSpoiledHistory(random: Rng): SpoiledHistory {
  const durationUs = random.between(REPLACED_US.min, REPLACED_US.max);
  return { kind: 'spoiled-history', share: random.pick([0, 0.3, 0.7, 1]), durationUs };
}
