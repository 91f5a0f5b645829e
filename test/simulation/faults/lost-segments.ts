// A fault of the log: a segment in its middle is gone, because its name is missing from the directory, as after the
// repair of a damaged file system. The power fails before, and another process starts with the rest.
//
// Regardless of its entries, the node must refuse to start and name the missing file; later its files are restored from
// a backup. The first segment is never lost, because it may be obsolete, nor the last one, which only the guard knows
// of (`lost` of rot).
import type { Rng } from '../engine/random.ts';

export interface LostSegment {
  readonly kind: 'lost-segment';
  /** Share of the unsynced data that survives the preceding power failure. */
  readonly share: number;
  /** Maximum time to wait for a log with three segments. */
  readonly waitUs: number;
  /** Time until an operator restores the files. */
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
