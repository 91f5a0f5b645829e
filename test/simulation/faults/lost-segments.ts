// A fault of the log: a segment in its middle is lost, because its name is missing from the directory, as after the
// repair of a damaged file system. A power failure precedes the loss, and a new process starts with the remaining
// files.
// Regardless of the entries in the segment, the node must refuse to start and name the missing file. Later its files
// are restored from a backup. This fault never takes the first segment, because it may be obsolete, nor the last one,
// whose loss only the guard can reveal (the fault `rot` with `lost` covers lost writes).
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
