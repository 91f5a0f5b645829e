// A fault of the store: the log of LevelDB is truncated, like one with an unreadable end, so that the last writes are
// silently gone, synced or not. The process ends before, and another one starts with the rest.
//
// That process either applies the missing entries again from its own log, or refuses to start when they are nowhere
// else (`#cluster`, crash-recovery.ts); then its files are restored from a backup after a while. The loss can be
// distinguished from a power failure, which keeps every synced write.
import type { Rng } from '../engine/random.ts';

export interface StoreCut {
  readonly kind: 'store-cut';
  /** Number of lost writes; all if there are fewer. */
  readonly writes: number;
  /** Time until an operator restores the store, if the node has not continued. */
  readonly durationUs: number;
}

const WRITES = [1, 3, 10, 30, 100, 300, 1000] as const;
const LASTS_US = { min: 500_000, max: 4_000_000 } as const;

export function drawStoreCut(random: Rng): StoreCut {
  return { kind: 'store-cut', writes: random.pick(WRITES), durationUs: random.between(LASTS_US.min, LASTS_US.max) };
}
