/**
 * Divides the memory that clients may occupy by connection, and cuts off slow clients while others
 * wait for it (TM1, TM2, TM4). byte-budgets.ts has the budgets of a node.
 *
 * ```
 *   take ── room ──> held ── the client has made no progress ──> evicted for another connection
 *     └── none ──> refused, or waits    └── release ──> room for others
 * ```
 *
 * Four rules:
 *
 * - Share: a connection gets more while as much is free as it then has. Its only hold needs no share. So n connections
 *   that take what they can have an (n + 1)th each, and as much is free for another one.
 * - Progress: a hold without progress for a quarter of the stall timeout may be evicted when a connection with less has
 *   no room; where only its end is observable, after the whole timeout. No more are evicted than are needed, and none
 *   when that is not enough. A hold that the node works with is not evicted.
 * - Proven connections: one whose last reply left, or whose last request came, within a second is proven. It is served
 *   first, and has a part of the budget that others do not get. A connection that lost a hold evicts no other one for
 *   the stall timeout, and is served last: crowds that come back at once do not keep others out.
 * - Turns: connections that wait are served in turn, one hold each. A connection with 500 streams counts as one.
 *
 * A hundred connections of one client count as a hundred clients.
 */
import { assert, Link, LinkedList } from '#base';
import { Line, TurnsByLine } from './turns-by-line.ts';

export interface BudgetTime {
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

export interface MemoryBudgetOptions {
  readonly bytesMax: number;
  /** Stall timeout: longest time without progress of a hold of which only the end is observable. */
  readonly stallMs: number;
  /** Part of the budget that only proven connections get. Default: none. */
  readonly provenPart?: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
}

/** Ends what the hold was taken for. The budget releases the hold itself. */
export type Evict = () => void;

/** A client that sends or takes all within this time is quick, also when the thread of the node stalls for a moment. */
export const QUICK_MS = 1_000;

const WATCHED_STALL_PART = 1 / 4;

/** Bytes that count as progress: no client of HTTP/2 sends less before it must be answered. */
const PROGRESS_BYTES = 16 * 1024;

/** Searches for holds without progress per stall timeout, while connections wait. */
const LOOKS_PER_STALL = 32;

/** Waiting connections for which holds are evicted in one look. */
const EVICTING_MAX = 32;

export class MemoryBudget {
  readonly bytesMax: number;
  /** Part of it that every connection can get. */
  readonly commonBytes: number;
  readonly #stallMs: number;
  readonly #time: BudgetTime;
  readonly #accounts = new WeakMap<object, Account>();
  /** Holds that may be evicted, the longest without progress first. */
  readonly #evictable = new LinkedList<Hold>();
  readonly #waiters = new TurnsByLine<Waiter>();
  #waiting = 0;
  #used = 0;
  /** Bytes of proven connections. */
  #provenUsed = 0;
  /** True while an unproven connection has waited long; until it is served, proven ones have only their part. */
  #isStarving = false;
  #isServing = false;
  #stopLooking: (() => void) | undefined;

  constructor({ bytesMax, stallMs, provenPart = 0, time = REAL_TIME }: MemoryBudgetOptions) {
    this.bytesMax = bytesMax;
    this.commonBytes = Math.ceil(bytesMax * (1 - provenPart));
    this.#stallMs = stallMs;
    this.#time = time;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting;
  }

  of(connection: object): Account {
    const known = this.#accounts.get(connection);
    if (known !== undefined) return known;
    const account = new Account(this);
    this.#accounts.set(connection, account);
    return account;
  }

  /**
   * For accounts and holds: returns whether so many more bytes are free, and evicts others for them if necessary.
   * `own`: bytes of the hold that grows.
   */
  hasRoom(account: Account, bytes: number, own = 0): boolean {
    if (this.#waiting > 0 && !account.isProven && own === 0) return false;
    return this.#missing(account, bytes, own) <= 0 || this.#evictFor(account, bytes, own);
  }

  /** For accounts: whether so many more bytes are free for which no connection waits. */
  hasSpare(account: Account, bytes: number): boolean {
    return this.#waiting === 0 && account.bytes + bytes <= this.commonBytes - this.#used;
  }

  /** For accounts: waits until there is room; undefined when the signal came first. */
  wait(account: Account, wished: number, evict: Evict, signal: AbortSignal): Promise<Hold | undefined> {
    const bytes = Math.min(wished, this.commonBytes);
    if (this.hasRoom(account, bytes)) return Promise.resolve(account.takeAnyway(bytes, evict));
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#left(waiter);
        resolve(undefined);
        this.#serve();
      };
      const waiter = new Waiter(account, bytes, () => {
        signal.removeEventListener('abort', giveUp);
        resolve(account.takeAnyway(bytes, evict));
      });
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.add(account.line, waiter.link);
      this.#waiting += 1;
      this.#stopLooking ??= this.#time.every(this.#stallMs / LOOKS_PER_STALL, () => this.#look());
    });
  }

  /** For accounts: they are proven from now on, or no longer. */
  proven(account: Account, isProven: boolean): void {
    this.#provenUsed += isProven ? account.bytes : -account.bytes;
  }

  /** For holds: their bytes have changed. */
  changed(account: Account, addedBytes: number): void {
    this.#used += addedBytes;
    if (account.isProven) this.#provenUsed += addedBytes;
    assert(this.#used >= 0, 'A budget does not get back more than was taken', this.#used);
    if (addedBytes < 0 && this.#waiting > 0) this.#serve();
  }

  /** For holds: may be evicted from now on, after all others. Returns the time. */
  progressed(hold: Hold): number {
    hold.link ??= new Link<Hold>(hold);
    this.#evictable.remove(hold.link);
    this.#evictable.append(hold.link);
    return this.#time.nowMs();
  }

  /** For holds: not evicted from now on. */
  pin(hold: Hold): void {
    if (hold.link !== undefined) this.#evictable.remove(hold.link);
  }

  nowMs(): number {
    return this.#time.nowMs();
  }

  /** For accounts: whether an eviction at that time still counts. */
  isRecent(evictedMs: number): boolean {
    return this.#time.nowMs() - evictedMs < this.#stallMs;
  }

  /** Bytes that others must release before the account gets so many. */
  #missing(account: Account, bytes: number, own = 0): number {
    const free = account.isProven ? this.#provenFree() : this.commonBytes - this.#used;
    return (account.bytes === own ? bytes : account.bytes + bytes) - free;
  }

  #provenFree(): number {
    const free = this.bytesMax - this.#used;
    return this.#isStarving ? Math.min(free, this.bytesMax - this.commonBytes - this.#provenUsed) : free;
  }

  #evictFor(account: Account, bytes: number, own = 0): boolean {
    if (account.wasEvicted) return false;
    const nowMs = this.#time.nowMs();
    let missing = this.#missing(account, bytes, own);
    const chosen: Hold[] = [];
    for (const hold of this.#evictable.values()) {
      const stoppedMs = nowMs - hold.progressMs;
      if (missing <= 0 || stoppedMs < this.#stallMs * WATCHED_STALL_PART) break;
      if (stoppedMs < this.#stallMs && !hold.isWatched) continue;
      const isHeavier = account.bytes === own || hold.account.bytes >= account.bytes + bytes;
      if (hold.account === account || !isHeavier) continue;
      chosen.push(hold);
      missing -= hold.bytes;
    }
    if (missing > 0) return false;
    // The room is for this one, and not for those that wait.
    const wasServing = this.#isServing;
    this.#isServing = true;
    for (const hold of chosen) {
      // A larger one that was chosen later may have made it unnecessary.
      if (missing + hold.bytes <= 0) missing += hold.bytes;
      else hold.evict();
    }
    this.#isServing = wasServing;
    return true;
  }

  /** Runs again and again while connections wait. */
  #look(): void {
    const lateMs = this.#time.nowMs() - QUICK_MS;
    for (const hold of this.#evictable.values()) {
      if (hold.progressMs > lateMs) break;
      hold.account.isProven = false;
    }
    const longMs = this.#time.nowMs() - this.#stallMs * WATCHED_STALL_PART;
    const isStarving = ({ account, sinceMs }: Waiter): boolean => account.rank === 1 && sinceMs <= longMs;
    this.#isStarving = this.bytesMax > this.commonBytes && [...this.#waiters.firsts()].some(isStarving);
    this.#serve();
    const first = [...this.#waiters.firsts()].toSorted(
      ({ account: a }, { account: b }) => a.rank - b.rank || a.bytes - b.bytes,
    );
    for (const waiter of first.slice(0, EVICTING_MAX))
      if (waiter.link.list !== undefined && this.#evictFor(waiter.account, waiter.bytes)) this.#grant(waiter);
    this.#serve();
  }

  /** Gives free bytes to connections that wait, by their rank. */
  #serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#grant(next);
    this.#isServing = false;
  }

  #next(): Waiter | undefined {
    for (const rank of [0, 1, 2]) {
      // A connection that has its share lets others go first, and one that only lacks room does not.
      const next = this.#waiters.first(
        ({ account, bytes }) => account.rank === rank && (account.bytes === 0 || this.#missing(account, bytes) <= 0),
      );
      if (next === undefined) continue;
      if (this.#missing(next.account, next.bytes) <= 0) return next;
      if (rank > 0 || !this.#isStarving) return undefined;
    }
    return undefined;
  }

  #grant(waiter: Waiter): void {
    this.#waiters.serve(waiter.account.line, waiter.link);
    this.#left(waiter);
    waiter.grant();
  }

  #left({ account, link }: Waiter): void {
    this.#waiters.remove(account.line, link);
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#isStarving = false;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}

class Waiter {
  readonly link: Link<Waiter> = new Link<Waiter>(this);
  readonly account: Account;
  readonly bytes: number;
  readonly sinceMs: number;
  readonly grant: () => void;

  constructor(account: Account, bytes: number, grant: () => void) {
    this.account = account;
    this.sinceMs = account.budget.nowMs();
    this.bytes = bytes;
    this.grant = grant;
  }
}

/** Bytes that one connection holds of a budget, and whether it is proven. */
export class Account {
  /** Used by the budget, and so are the next three. */
  readonly line: Line<Waiter> = new Line<Waiter>();
  bytes = 0;
  #isProven = false;
  readonly budget: MemoryBudget;
  #evictedMs = Number.NEGATIVE_INFINITY;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  get isProven(): boolean {
    return this.#isProven;
  }

  set isProven(isProven: boolean) {
    if (isProven !== this.#isProven) this.budget.proven(this, isProven);
    this.#isProven = isProven;
  }

  get wasEvicted(): boolean {
    return this.budget.isRecent(this.#evictedMs);
  }

  /** Connections of a lower one are served first. */
  get rank(): number {
    if (this.isProven) return 0;
    return this.wasEvicted ? 2 : 1;
  }

  /** One of its holds was evicted, or it has shown nothing yet: it evicts no other connection for a while. */
  distrust(): void {
    this.isProven = false;
    this.#evictedMs = this.budget.nowMs();
  }

  /** Returns whether so many bytes are free for it, and evicts others for them if necessary. */
  hasRoom(bytes: number): boolean {
    return this.budget.hasRoom(this, bytes);
  }

  /** Takes the bytes; undefined when there is no room for them. */
  tryTake(bytes: number, evict: Evict): Hold | undefined {
    return this.hasRoom(bytes) ? this.takeAnyway(bytes, evict) : undefined;
  }

  /** Takes bytes for which no connection waits and none is evicted; undefined when there are not so many. */
  tryBorrow(bytes: number, evict: Evict): Hold | undefined {
    return this.budget.hasSpare(this, bytes) ? this.takeAnyway(bytes, evict) : undefined;
  }

  /** Takes the bytes in any case: they cannot be refused any more, or are bounded otherwise. */
  takeAnyway(bytes: number, evict: Evict): Hold {
    return new Hold(this, bytes, evict);
  }

  /**
   * Waits for so many bytes; the owner resizes the hold when it knows the size. At most the part of the budget that all
   * connections get is taken. Rejects when the signal aborts first.
   */
  async take(bytes: number, evict: Evict, signal: AbortSignal): Promise<Hold> {
    signal.throwIfAborted();
    const hold = await this.budget.wait(this, bytes, evict, signal);
    if (hold === undefined) signal.throwIfAborted();
    assert(hold !== undefined, 'A taker that gets nothing has given up');
    return hold;
  }
}

/**
 * Bytes that one request, reply or stream holds.
 *
 * ```
 *   taken: the node works with it ── watch, watchEnd: the client must act ──> evictable ── moved ... ──> released
 *               ^──────────────────────────── pin ────────────────────────────────┘
 * ```
 */
export class Hold {
  /** Used by the budget, and so are the next three. Undefined until the client must act. */
  link: Link<Hold> | undefined;
  readonly account: Account;
  progressMs = 0;
  isWatched = false;
  readonly #evict: Evict;
  #bytes = 0;
  /** Undefined before the client must act. */
  #sinceMs: number | undefined;
  /** Since the last progress. */
  #cameBytes = 0;
  #isReleased = false;

  constructor(account: Account, bytes: number, evict: Evict) {
    this.account = account;
    this.#evict = evict;
    this.resize(bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts the actual size, even when there is no room for it. */
  resize(bytes: number): void {
    if (this.#isReleased) return;
    const added = bytes - this.#bytes;
    this.#bytes = bytes;
    this.account.bytes += added;
    this.account.budget.changed(this.account, added);
  }

  /** Counts more, if there is room for it. A watched hold has made progress when enough has come. */
  tryGrow(bytes: number): boolean {
    const added = bytes - this.#bytes;
    if (this.#isReleased) return false;
    if (added > 0 && !this.account.budget.hasRoom(this.account, added, this.#bytes)) return false;
    this.resize(bytes);
    this.#cameBytes += added;
    if (this.isWatched && this.#cameBytes >= PROGRESS_BYTES) this.moved();
    return true;
  }

  /** The client must act from now on, and each part that comes or leaves is reported. */
  watch(): void {
    this.isWatched = true;
    this.#begin();
  }

  /** The client must act from now on, and only the end is observable. */
  watchEnd(): void {
    this.isWatched = false;
    this.#begin();
  }

  /** A part has come or left. */
  moved(): void {
    if (this.link?.list !== undefined) this.#expose();
  }

  /** The node works with it from now on. */
  pin(): void {
    this.account.budget.pin(this);
  }

  /** The client has sent or taken all of it. */
  taken(): void {
    if (this.#sinceMs === undefined || this.#isReleased) return;
    this.account.isProven = this.account.budget.nowMs() - this.#sinceMs <= QUICK_MS;
  }

  /** Releases the bytes; does nothing after the first call. */
  release(): void {
    if (this.#isReleased) return;
    this.pin();
    const bytes = this.#bytes;
    this.#bytes = 0;
    this.#isReleased = true;
    this.account.bytes -= bytes;
    this.account.budget.changed(this.account, -bytes);
  }

  /** For the budget. */
  evict(): void {
    this.account.distrust();
    this.#evict();
    this.release();
  }

  #begin(): void {
    if (this.#isReleased) return;
    this.#expose();
    this.#sinceMs = this.progressMs;
  }

  #expose(): void {
    this.#cameBytes = 0;
    this.progressMs = this.account.budget.progressed(this);
  }
}
