// What may happen to connections between nodes that aims at what others are read by. A bit that turns anywhere mostly
// turns in a frame, which costs that frame; what is said in few bytes, or first, is what a whole connection hangs on.
import type { Rng } from '../engine/random.ts';

/** Shares of what each may hit. */
export interface LaneHarm {
  /** Of what is written in few bytes, such as the head of a record: a bit turns in it. */
  readonly fewShare: number;
  /** Of what either end says first. */
  readonly firstShare: number;
  /** Share of pieces after which nothing gets through in either direction, silently, as behind a firewall. */
  readonly holeShare: number;
  /** Of the pieces that arrive: the connection is reset behind it. */
  readonly resetShare: number;
}

export const NO_HARM: LaneHarm = { fewShare: 0, firstShare: 0, holeShare: 0, resetShare: 0 };

/** Few bytes: a head, a question, a word. */
export const FEW_BYTES_MAX = 16;

const HARMS: readonly [LaneHarm, ...LaneHarm[]] = [
  { ...NO_HARM, fewShare: 0.02 },
  { ...NO_HARM, fewShare: 0.2, resetShare: 0.01 },
  // The more connections there are, the more begin.
  { ...NO_HARM, firstShare: 0.7, resetShare: 0.1 },
  { ...NO_HARM, holeShare: 0.02 },
  { fewShare: 0.02, firstShare: 0.3, holeShare: 0.02, resetShare: 0.02 },
];

export function drawHarm(random: Rng): LaneHarm {
  return random.pick(HARMS);
}

/** A copy in which one bit is another. */
export function withTurnedBit(bytes: Uint8Array, random: Rng): Uint8Array {
  const copy = bytes.slice();
  const at = random.between(0, copy.length - 1);
  copy[at] = (copy[at] ?? 0) ^ (1 << random.between(0, 7));
  return copy;
}
