/**
 * Bytes that clients may make this node hold at a time, and who holds them.
 *
 * ```
 *   take ── there is room ──> held ── release ──> room for others
 *     └─ full ──> refused       └── full, and kept beyond the patience ──> evicted: its owner releases it
 * ```
 *
 * The budget counts what it is told; whoever holds memory says so before it has it (TM1). A holder that lets go in time
 * is never disturbed, and one that does not is disturbed only when somebody else needs the room (TM2). Whoever takes
 * may bring less patience than the budget has, for holders of which each part is seen: those that have stood still for
 * that time make way, if that is enough. Who waits for room, and in which order, is the business of `FairBudget`.
 */
import { assert, Link, LinkedList } from '#base';

export interface ByteBudgetOptions {
  readonly bytesMax: number;
  /** How long bytes may be held once others need them. */
  readonly patienceMs: number;
  /** How long those that are watched may stand still for a taker that says nothing else; the patience unless given. */
  readonly takerPatienceMs?: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
  /** Told whenever there is more room than before. */
  readonly onRoom?: () => void;
}

export interface BudgetTime {
  /** From any beginning, never back. */
  nowMs(): number;
  /** Runs again and again until the returned function is called. */
  every(periodMs: number, run: () => void): () => void;
}

export const REAL_TIME: BudgetTime = {
  nowMs: () => performance.now(),
  every: (periodMs, run) => {
    const timer = setInterval(run, periodMs);
    return () => clearInterval(timer);
  },
};

/** What a holder is told when its bytes are needed; it must release them, at once or soon. */
export type Evict = () => void;

/** Who is told what becomes of bytes that were taken for it. */
export interface HoldKeeper {
  resized(hold: Hold, addedBytes: number): void;
  /** Before there is room for others. */
  released(hold: Hold): void;
}

/** Whoever brings less of it has not stood still. Less than any client of HTTP/2 sends before it must be answered. */
const MOVED_BYTES = 16 * 1024;

export class ByteBudget {
  readonly bytesMax: number;
  /** How long bytes may be held once others need them. */
  readonly patienceMs: number;
  readonly takerPatienceMs: number;
  readonly #time: BudgetTime;
  readonly #onRoom: (() => void) | undefined;
  /** Those that may be told to go, oldest first. */
  readonly #holds = new LinkedList<Hold>();
  #used = 0;
  /** Bytes of holders that were told to go. */
  #leaving = 0;

  constructor({ bytesMax, patienceMs, takerPatienceMs = patienceMs, time = REAL_TIME, onRoom }: ByteBudgetOptions) {
    this.takerPatienceMs = takerPatienceMs;
    this.bytesMax = bytesMax;
    this.patienceMs = patienceMs;
    this.#time = time;
    this.#onRoom = onRoom;
  }

  /** Bytes that are held now. */
  get used(): number {
    return this.#used;
  }

  /** By which it counts how long bytes are held. */
  nowMs(): number {
    return this.#time.nowMs();
  }

  /** Whether so much is free, after whoever kept bytes too long has been told. */
  hasRoom(bytes: number, patienceMs: number = this.takerPatienceMs): boolean {
    if (this.#used + bytes <= this.bytesMax) return true;
    this.#evictStale(bytes, patienceMs);
    return this.#used + bytes <= this.bytesMax;
  }

  /** The bytes, or undefined when there is no room for them now. */
  tryTake(bytes: number, evict: Evict, patienceMs: number = this.takerPatienceMs): Hold | undefined {
    return this.hasRoom(bytes, patienceMs) ? this.takeAnyway(bytes, evict) : undefined;
  }

  /** The bytes in any case: of what cannot be refused any more, or what there is room for. */
  takeAnyway(bytes: number, evict: Evict, keeper?: HoldKeeper): Hold {
    const hold = new Hold(this, { bytes, evict, keeper, sinceMs: this.#time.nowMs() });
    this.#holds.append(hold.link);
    this.#used += bytes;
    return hold;
  }

  /** For the holds alone. */
  resize(hold: Hold, from: number, to: number): void {
    this.#used += to - from;
    if (hold.evicted) this.#leaving += to - from;
    if (to < from) this.#onRoom?.();
  }

  /** For the holds alone. */
  remove(hold: Hold): void {
    this.#holds.remove(hold.link);
    this.#used -= hold.bytes;
    if (hold.evicted) this.#leaving -= hold.bytes;
    assert(this.#used >= 0, 'A budget is not given back more than was taken', this.#used);
    this.#onRoom?.();
  }

  /** For the holds alone: the youngest from now on, which is returned. */
  renew(hold: Hold): number {
    this.#holds.toEnd(hold.link);
    return this.#time.nowMs();
  }

  /** For the holds alone: never evicted. */
  pin(hold: Hold): void {
    this.#holds.remove(hold.link);
  }

  /** For the holds alone: the youngest that may be evicted. The answer is the time. */
  unpin(hold: Hold): number {
    if (!hold.evicted && !this.#holds.has(hold.link)) this.#holds.append(hold.link);
    return this.#time.nowMs();
  }

  /** How many bytes must be given back, beside those of holders that were told, before so much is free. */
  missing(bytes: number): number {
    return Math.max(0, this.#used - this.#leaving + bytes - this.bytesMax);
  }

  /** Those that may be told to go and of whose bytes nothing has left for so long, the longest first. */
  *stalled(ms: number): Generator<Hold, void> {
    const since = this.#time.nowMs() - ms;
    for (const hold of this.#holds.values()) {
      if (hold.movedMs > since) return;
      yield hold;
    }
  }

  /** Tells a holder that may be told to go. */
  evict(hold: Hold): void {
    if (!this.#holds.remove(hold.link)) return;
    this.#leaving += hold.bytes;
    hold.markEvicted();
  }

  /** Those that make way for so much patience; no more than are needed, and if it is not enough only the old. */
  #evictStale(bytes: number, patienceMs: number): void {
    const nowMs = this.#time.nowMs();
    let left = this.missing(bytes);
    const told: Hold[] = [];
    for (const hold of this.#holds.values()) {
      const stoodMs = nowMs - hold.movedMs;
      if (left <= 0 || stoodMs < patienceMs) break;
      if (!hold.isWatched && stoodMs < this.patienceMs) continue;
      told.push(hold);
      left -= hold.bytes;
    }
    for (const hold of told) if (left <= 0 || nowMs - hold.movedMs >= this.patienceMs) this.evict(hold);
  }
}

interface Taken {
  readonly bytes: number;
  readonly evict: Evict;
  readonly keeper: HoldKeeper | undefined;
  readonly sinceMs: number;
}

/**
 * Bytes that one holder has.
 *
 * ```
 *   taken ── renew / watch: on their way ──> ── moved, moved ... ──> released
 *     sinceMs                sinceMs               movedMs
 * ```
 */
export class Hold {
  /** For the budget alone. */
  readonly link: Link<Hold> = new Link<Hold>(this);
  readonly #budget: ByteBudget;
  readonly #evict: Evict;
  readonly #keeper: HoldKeeper | undefined;
  #bytes: number;
  #sinceMs: number;
  #movedMs: number;
  #isRenewed = false;
  #isWatched = false;
  /** Since it has moved. */
  #comeBytes = 0;
  #isTaken = false;
  #evicted = false;
  #released = false;

  /** For the budget alone. */
  constructor(budget: ByteBudget, { bytes, evict, keeper, sinceMs }: Taken) {
    this.#budget = budget;
    this.#bytes = bytes;
    this.#evict = evict;
    this.#keeper = keeper;
    this.#sinceMs = sinceMs;
    this.#movedMs = sinceMs;
  }

  get keeper(): HoldKeeper | undefined {
    return this.#keeper;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** When the last part of the bytes has left or come, or else `sinceMs`. */
  get movedMs(): number {
    return this.#movedMs;
  }

  /** Whether the bytes have been on their way to the client, since `sinceMs`. */
  get isRenewed(): boolean {
    return this.#isRenewed;
  }

  /** Whether the client has taken all of it, and not gone, or been cut off. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Whether its owner says of each part of the bytes that it has left, or has come. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  get evicted(): boolean {
    return this.#evicted;
  }

  /** Counts what it has turned out to be, whether there is room or not. */
  resize(bytes: number): void {
    if (this.#released) return;
    const from = this.#bytes;
    this.#bytes = bytes;
    this.#keeper?.resized(this, bytes - from);
    this.#budget.resize(this, from, bytes);
  }

  /** Counts more, if there is room for it. What is watched has moved when enough has come. */
  tryGrow(bytes: number, patienceMs: number = this.#budget.takerPatienceMs): boolean {
    // It may be told to go itself.
    if (!this.#budget.hasRoom(bytes - this.#bytes, patienceMs) || this.#released) return false;
    this.#comeBytes += bytes - this.#bytes;
    this.resize(bytes);
    if (this.#isWatched && this.#comeBytes >= MOVED_BYTES) this.moved();
    return true;
  }

  /** Its time begins anew: from now on it is the client that can let go. */
  renew(): void {
    if (this.#released) return;
    this.#isRenewed = true;
    this.#sinceMs = this.#budget.renew(this);
    this.#movedMs = this.#sinceMs;
  }

  /** The same, and from now on `moved` is called for each part that has left, of which no more is one at a time. */
  watch(): void {
    this.#isWatched = true;
    this.renew();
  }

  /** A part of the bytes has left or come: whoever takes or sends them is slow, perhaps, but has not stopped. */
  moved(): void {
    this.#comeBytes = 0;
    if (!this.#released) this.#movedMs = this.#budget.renew(this);
  }

  /** No part of it will be seen to move: it has the whole patience again, from when it has moved last. */
  unwatch(): void {
    this.#isWatched = false;
  }

  /** Is not evicted from now on: what holds the bytes is the node itself, which will let go. */
  pin(): void {
    this.#budget.pin(this);
  }

  /** May be evicted again, and its time begins anew. */
  unpin(): void {
    if (this.#released) return;
    this.#sinceMs = this.#budget.unpin(this);
    this.#movedMs = this.#sinceMs;
  }

  /** All of the bytes have left: they are given back at once, or soon. */
  taken(): void {
    this.#isTaken = true;
  }

  /** Gives the bytes back; once, however often it is called. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#keeper?.released(this);
    this.#budget.remove(this);
  }

  /** For the budget alone. */
  markEvicted(): void {
    this.#evicted = true;
    this.#evict();
  }
}
