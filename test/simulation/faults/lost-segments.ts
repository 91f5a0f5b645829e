// A segment in the middle of a log is gone: its name is in no directory any more, as after the repair of a spoiled file
// system, and nothing says so. The power had failed before, and another process starts on what is left.
//
// Whatever its entries, nobody may go on without it: it refuses to start, and says which file is missing; then its
// files are restored from a backup after a while. The first segment is left alone, as all of it may be done with, and
// the last, which only the guard knows of (`lost` of rot).
import type { Rng } from '../engine/random.ts';

export interface LostSegment {
  readonly kind: 'lost-segment';
  /** What of the unsynced survives the failure of the power before it. */
  readonly share: number;
  /** How long somebody waits for a log of three segments. */
  readonly waitUs: number;
  /** Until an operator restores what there was. */
  readonly durationUs: number;
}

const WAIT_US = 3_000_000;
const DURATION_US = { min: 200_000, max: 2_000_000 } as const;

export function drawLostSegment(random: Rng): LostSegment {
  return {
    kind: 'lost-segment',
    share: random.pick([0, 0.3, 0.7, 1]),
    waitUs: WAIT_US,
    durationUs: random.between(DURATION_US.min, DURATION_US.max),
  };
}
