// Targeted faults of connections. A random bit flip mostly hits the content of a frame, and costs only that frame.
// These faults hit short or initial messages, on which the whole connection depends.
import type { Rng } from '../engine/random.ts';

/** Shares of the affected data. */
export interface LaneHarm {
  /** Share of short writes, such as the header of a record, in which a bit flips. */
  readonly fewShare: number;
  /** Share of initial messages of either end in which a bit flips. */
  readonly firstShare: number;
  /** Share of chunks after which nothing passes in either direction, silently, as with a firewall. */
  readonly holeShare: number;
  /** Share of arriving chunks after which the connection is reset. */
  readonly resetShare: number;
}

export const NO_HARM: LaneHarm = { fewShare: 0, firstShare: 0, holeShare: 0, resetShare: 0 };

/** Maximum length of a short write, such as a header or a ping. */
export const FEW_BYTES_MAX = 16;

const HARMS: readonly [LaneHarm, ...LaneHarm[]] = [
  { ...NO_HARM, fewShare: 0.02 },
  { ...NO_HARM, fewShare: 0.2, resetShare: 0.01 },
  // Resets cause more new connections, and therefore more initial messages.
  { ...NO_HARM, firstShare: 0.7, resetShare: 0.1 },
  { ...NO_HARM, holeShare: 0.02 },
  { fewShare: 0.02, firstShare: 0.3, holeShare: 0.02, resetShare: 0.02 },
];

export function drawHarm(random: Rng): LaneHarm {
  return random.pick(HARMS);
}

/** A copy with one flipped bit. */
export function withTurnedBit(bytes: Uint8Array, random: Rng): Uint8Array {
  const copy = bytes.slice();
  const at = random.between(0, copy.length - 1);
  copy[at] = (copy[at] ?? 0) ^ (1 << random.between(0, 7));
  return copy;
}
