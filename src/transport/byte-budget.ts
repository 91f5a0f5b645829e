/**
 * Bytes that clients may make this node hold at a time, and who holds them.
 *
 * ```
 *   take ── there is room ──> held ── release ──> room for the next in the queue
 *     └─ full ──> queue ───────┘  └── full, and kept beyond the patience ──> evicted: its owner releases it
 * ```
 *
 * The budget counts what it is told; whoever holds memory says so before it has it (TM1). A holder that lets go in time is
 * never disturbed, and one that does not is disturbed only when somebody else needs the room (TM2).
 */
import { assert } from '#base';

export interface ByteBudgetOptions {
  readonly bytesMax: number;
  /** How long bytes may be held once others wait for them. */
  readonly patienceMs: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
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

interface Waiter {
  readonly bytes: number;
  readonly evict: Evict;
  readonly grant: (hold: Hold) => void;
}

/** How often a queue looks for bytes that were kept too long, as a part of the patience. */
const LOOKS_PER_PATIENCE = 8;

export class ByteBudget {
  readonly bytesMax: number;
  readonly #patienceMs: number;
  /** Oldest first. */
  readonly #holds = new Set<Hold>();
  readonly #queue = new Set<Waiter>();
  #used = 0;
  /** Bytes of holders that were told to go. */
  #leaving = 0;
  readonly #time: BudgetTime;
  #stopLooking: (() => void) | undefined;

  constructor({ bytesMax, patienceMs, time = REAL_TIME }: ByteBudgetOptions) {
    this.#time = time;
    this.bytesMax = bytesMax;
    this.#patienceMs = patienceMs;
  }

  /** Bytes that are held now. */
  get used(): number {
    return this.#used;
  }

  /** Takers that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether so many bytes could be taken now. */
  hasRoom(bytes: number): boolean {
    return this.#queue.size === 0 && this.#makeRoom(bytes);
  }

  /** The bytes, or undefined when there is no room for them now. */
  tryTake(bytes: number, evict: Evict): Hold | undefined {
    return this.hasRoom(bytes) ? this.#hold(bytes, evict) : undefined;
  }

  /** The bytes in any case: of what cannot be refused any more. */
  takeAnyway(bytes: number, evict: Evict): Hold {
    return this.#hold(bytes, evict);
  }

  /** Waits for the bytes, first come first served. More than the whole budget counts as the whole budget. */
  async take(bytes: number, evict: Evict, signal: AbortSignal): Promise<Hold> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.bytesMax);
    const hold = this.tryTake(wanted, evict) ?? (await this.#wait(wanted, evict, signal));
    if (hold === undefined) signal.throwIfAborted();
    assert(hold !== undefined, 'A taker that gets nothing has given up');
    return hold;
  }

  /** For the holds alone. */
  resize(hold: Hold, from: number, to: number): void {
    this.#used += to - from;
    if (hold.evicted) this.#leaving += to - from;
    if (to < from) this.#serve();
  }

  /** For the holds alone. */
  makeRoomFor(bytes: number): boolean {
    return this.#makeRoom(bytes);
  }

  /** For the holds alone. */
  remove(hold: Hold): void {
    this.#holds.delete(hold);
    this.#used -= hold.bytes;
    if (hold.evicted) this.#leaving -= hold.bytes;
    assert(this.#used >= 0, 'A budget is not given back more than was taken', this.#used);
    this.#serve();
  }

  /** For the holds alone: the youngest from now on, which is returned. */
  renew(hold: Hold): number {
    this.#holds.delete(hold);
    this.#holds.add(hold);
    return this.#time.nowMs();
  }

  /** For the holds alone: never evicted. */
  pin(hold: Hold): void {
    this.#holds.delete(hold);
  }

  /** The bytes, or undefined when the signal came first. */
  #wait(bytes: number, evict: Evict, signal: AbortSignal): Promise<Hold | undefined> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#queue.delete(waiter);
        this.#serve();
        resolve(undefined);
      };
      const grant = (hold: Hold): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(hold);
      };
      const waiter: Waiter = { bytes, evict, grant };
      this.#queue.add(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#stopLooking ??= this.#time.every(this.#patienceMs / LOOKS_PER_PATIENCE, () => this.#serve());
    });
  }

  #hold(bytes: number, evict: Evict): Hold {
    const hold = new Hold(this, { bytes, evict, sinceMs: this.#time.nowMs() });
    this.#holds.add(hold);
    this.#used += bytes;
    return hold;
  }

  /** Whether so much is free, after whoever kept bytes too long has been told. */
  #makeRoom(bytes: number): boolean {
    if (this.#used + bytes <= this.bytesMax) return true;
    this.#evictStale(bytes);
    return this.#used + bytes <= this.bytesMax;
  }

  #evictStale(bytes: number): void {
    const oldEnough = this.#time.nowMs() - this.#patienceMs;
    for (const hold of this.#holds) {
      if (hold.sinceMs > oldEnough || this.#used - this.#leaving + bytes <= this.bytesMax) return;
      if (hold.evicted) continue;
      this.#leaving += hold.bytes;
      hold.markEvicted();
    }
  }

  /** Gives what has become free to those who wait, in their order. */
  #serve(): void {
    for (const waiter of this.#queue) {
      if (!this.#makeRoom(waiter.bytes)) return;
      // What was told to go may have gone at once, and this waiter have been served by it.
      if (!this.#queue.delete(waiter)) continue;
      waiter.grant(this.#hold(waiter.bytes, waiter.evict));
    }
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}

/** Bytes that one holder has. */
export class Hold {
  readonly #budget: ByteBudget;
  readonly #evict: Evict;
  #bytes: number;
  #sinceMs: number;
  #evicted = false;
  #released = false;

  /** For the budget alone. */
  constructor(budget: ByteBudget, taken: { readonly bytes: number; readonly evict: Evict; readonly sinceMs: number }) {
    this.#budget = budget;
    this.#bytes = taken.bytes;
    this.#evict = taken.evict;
    this.#sinceMs = taken.sinceMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get evicted(): boolean {
    return this.#evicted;
  }

  /** Counts what it has turned out to be, whether there is room or not. */
  resize(bytes: number): void {
    if (this.#released) return;
    const from = this.#bytes;
    this.#bytes = bytes;
    this.#budget.resize(this, from, bytes);
  }

  /** Counts more, if there is room for it. */
  tryGrow(bytes: number): boolean {
    if (!this.#budget.makeRoomFor(bytes - this.#bytes)) return false;
    this.resize(bytes);
    return true;
  }

  /** Its time begins anew. */
  renew(): void {
    if (this.#released) return;
    this.#sinceMs = this.#budget.renew(this);
  }

  /** Is not evicted from now on: what holds the bytes is the node itself, which will let go. */
  pin(): void {
    this.#budget.pin(this);
  }

  /** Gives the bytes back; once, however often it is called. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#budget.remove(this);
  }

  /** For the budget alone. */
  markEvicted(): void {
    this.#evicted = true;
    this.#evict();
  }
}
