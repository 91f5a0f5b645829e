/**
 * What all groups of this node hold in memory together, against one bound: the entries of their logs, of followers
 * too; requests that wait for a leader; and requests that another node is to take in (ADR 0095).
 *
 * ```
 *   |■■■■■ one database ■■■■■|■■ another ■■|□□□□□□□ left □□□□□□□|
 *                                            memoryBytesMax ────^
 * ```
 *   C35  A request is taken in if its database then holds at most as much as is left, or held nothing and something is
 *        left. So n databases that take whatever they get have an (n + 1)th each, and as much is left for another one.
 *        Only the catalog is not held to it. What is applied is kept for members only while all logs hold less than
 *        half of the bound, and makes way for a request of its database.
 */

/** A number of bytes that several count. */
export interface HeldBytes {
  bytes: number;
}

interface Wish {
  /** What it holds, and wants to hold beside that. */
  readonly own: number;
  readonly added: number;
}

/** Of the bound, for entries that are applied and that some member may lack. */
const RETAINED_SHARE = 2;
/** Of the bound, for what neither the log nor the state has yet: beyond it this node stops reading from its peers. */
const BEHIND_SHARE = 4;
/** Of that, what is left when it goes on. */
const CAUGHT_UP_SHARE = 2;

export class NodeMemory {
  readonly bytesMax: number;
  readonly waiting: HeldBytes = { bytes: 0 };
  readonly forwarded: HeldBytes = { bytes: 0 };
  /** Taken in within this turn, and no entries yet. */
  readonly taken: HeldBytes = { bytes: 0 };
  readonly #logBytes: () => number;

  constructor(bytesMax: number, logBytes: () => number) {
    this.bytesMax = bytesMax;
    this.#logBytes = logBytes;
  }

  get heldBytes(): number {
    return this.#logBytes() + this.waiting.bytes + this.forwarded.bytes + this.taken.bytes;
  }

  /** Whether a database may hold that. */
  admits(wish: Wish): boolean {
    return isWithinShare(wish, this.bytesMax - this.heldBytes);
  }

  /** What a log may keep of entries that are applied, if that is less than what it may keep anyhow. */
  retainedBelow(bytesMax: number): number | undefined {
    const left = Math.max(0, this.bytesMax / RETAINED_SHARE - this.#logBytes());
    return left < bytesMax ? left : undefined;
  }

  /** Whether so much that log or state have not taken yet is too much to read more of it. */
  isBehind(bytes: number): boolean {
    return bytes > this.bytesMax / BEHIND_SHARE;
  }

  /** Whether it is little enough to go on. */
  hasCaughtUp(bytes: number): boolean {
    return bytes <= this.bytesMax / (BEHIND_SHARE * CAUGHT_UP_SHARE);
  }
}

/** Whether somebody who shares a bound with others may hold more, when so much of it is left. */
export function isWithinShare({ own, added }: Wish, left: number): boolean {
  return own === 0 ? left > 0 : own + added <= left;
}
