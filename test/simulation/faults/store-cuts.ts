// A log of LevelDB is cut, as one whose end cannot be read any more: what the store wrote last is gone, synced or not,
// and nothing says so. The process had ended before, and another one starts on what is left.
//
// Whoever starts so either applies again what its own log still has, or refuses to, since what is gone is nowhere else
// (`#cluster`, recovery.ts); then its files are restored from a backup after a while. What is gone is told apart from
// what a power failure takes: that leaves every synced write.
import type { Rng } from '../engine/random.ts';

export interface StoreCut {
  readonly kind: 'store-cut';
  /** How many of the last writes are gone; of fewer all. */
  readonly writes: number;
  /** Until an operator restores what there was, if the node has not gone on. */
  readonly durationUs: number;
}

const WRITES = [1, 3, 10, 30, 100, 300, 1000] as const;
const LASTS_US = { min: 500_000, max: 4_000_000 } as const;

export function drawStoreCut(random: Rng): StoreCut {
  return { kind: 'store-cut', writes: random.pick(WRITES), durationUs: random.between(LASTS_US.min, LASTS_US.max) };
}
