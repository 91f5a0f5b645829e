/**
 * Limits the memory of all groups of this node together: entries of their logs (also on followers), requests that wait
 * for a leader, and requests for other nodes (ADR 0095).
 *
 * ```
 *   |■■■■■ one database ■■■■■|■■ another ■■|□□□□□□□ left □□□□□□□|
 *                                            memoryBytesMax ────^
 * ```
 *   C35  A request is accepted if its database then uses at most as much as is free, or used nothing and something is
 *        free. So n greedy databases get an (n + 1)th each, and as much is left for another one.
 *        The catalog is exempt. Applied entries are kept for members only while all logs use less than
 *        half of the limit, and are evicted for a request of their database.
 */

/** A shared counter of bytes. */
export interface HeldBytes {
  bytes: number;
}

interface Wish {
  /** Bytes that it uses, and wants in addition. */
  readonly own: number;
  readonly added: number;
}

/** Divisor of the limit for applied entries that some member may lack. */
const RETAINED_SHARE = 2;
/** Divisor of the limit for data that neither log nor state has yet: beyond it this node reads no more from peers. */
const BEHIND_SHARE = 4;
/** Divisor of that at which it resumes. */
const CAUGHT_UP_SHARE = 2;

export class NodeMemory {
  readonly bytesMax: number;
  readonly waiting: HeldBytes = { bytes: 0 };
  readonly forwarded: HeldBytes = { bytes: 0 };
  /** Accepted in this turn, and not entries yet. */
  readonly taken: HeldBytes = { bytes: 0 };
  readonly #logBytes: () => number;

  constructor(bytesMax: number, logBytes: () => number) {
    this.bytesMax = bytesMax;
    this.#logBytes = logBytes;
  }

  get heldBytes(): number {
    return this.#logBytes() + this.waiting.bytes + this.forwarded.bytes + this.taken.bytes;
  }

  /** Returns whether a database may use that much. */
  admits(wish: Wish): boolean {
    return isWithinShare(wish, this.bytesMax - this.heldBytes);
  }

  /** Bytes of applied entries that a log may keep, if less than its own limit. */
  retainedBelow(bytesMax: number): number | undefined {
    const left = Math.max(0, this.bytesMax / RETAINED_SHARE - this.#logBytes());
    return left < bytesMax ? left : undefined;
  }

  /** Returns whether so many pending bytes are too much to read more. */
  isBehind(bytes: number): boolean {
    return bytes > this.bytesMax / BEHIND_SHARE;
  }

  /** Returns whether it is little enough to resume reading. */
  hasCaughtUp(bytes: number): boolean {
    return bytes <= this.bytesMax / (BEHIND_SHARE * CAUGHT_UP_SHARE);
  }
}

/** Returns whether a user of a shared limit may take more, with so much of it left. */
export function isWithinShare({ own, added }: Wish, left: number): boolean {
  return own === 0 ? left > 0 : own + added <= left;
}
