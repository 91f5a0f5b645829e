/**
 * A byte budget whose takers wait for room, such that those who keep what they took do not hold up those who let go
 * (TM4).
 *
 * ```
 *   |<───────────── common, three quarters ──────────────>|<── reserve, a quarter ──>|
 *    anybody                                                quick takers that hold nothing, of a
 *                                                           connection one, or several that are small
 *
 *                   ┌── quick: nothing held, and the last was let go of soon ──> reserve or common ──┐
 *   take ── full ───┤        │ ^                                                                     ├──> held
 *                   └── slow ┴─┘ judged with every release ─────────────────────> common ────────────┘
 * ```
 *
 * Of the common part quick and slow ones get every other grant. Among the quick and among the slow the connections take
 * turns; a connection with 500 streams counts as one. A taker of which nothing is known yet is what the last of its
 * connection was seen to be, and quick if none was; so what a connection can have of the reserve by takers that are new
 * is bounded, and ends when they are seen to be slow: when one of them has let go late, or has not yet.
 *
 * Whoever waits and has little takes from those that have much and stand still (displacement.ts), long before the
 * patience with them is at its end; and a connection that has nothing, and is not known to be slow, from those that
 * have one hold, too. First come those who are known to be quick.
 *
 * Not here: connections that are opened by the hundred; they count as so many clients.
 */
import { assert, Link } from '#base';
import { type BudgetTime, ByteBudget, type Evict, type Hold, type HoldKeeper, REAL_TIME } from './byte-budget.ts';
import { displaced } from './displacement.ts';
import { Line, TurnsByLine } from './turns-by-line.ts';

export interface FairBudgetOptions {
  readonly bytesMax: number;
  /** How long bytes may be held once others wait for them. */
  readonly patienceMs: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
}

/**
 * Bytes that were on their way to the client no longer than this were let go of soon. Long enough that a node whose
 * thread stood still for a moment does not take its readers for slow.
 */
export const QUICK_MS = 1_000;

const RESERVE_PER_BUDGET = 1 / 4;

/** What a connection may have of the reserve, if that is more than one hold. */
const SHARE_PER_RESERVE = 1 / 32;

/** How often a queue looks for bytes that were kept too long, as a part of the patience. */
const LOOKS_PER_PATIENCE = 32;

/** Of whose bytes nothing has left for so long, as a part of the patience, stands still. */
const STALLED_PER_PATIENCE = 1 / 4;

/** Each of them looks at all that stand still. */
const DISPLACING_MAX = 32;

interface Bytes {
  readonly bytes: number;
  readonly evict: Evict;
}

interface Wish extends Bytes {
  readonly signal: AbortSignal;
}

/** Waits in one of the lines of its connection. */
class Waiter {
  readonly link: Link<Waiter> = new Link<Waiter>(this);
  readonly taker: Taker;
  readonly wish: Wish;
  readonly grant: (hold: Hold) => void;

  constructor(taker: Taker, wish: Wish, grant: (hold: Hold) => void) {
    this.taker = taker;
    this.wish = wish;
    this.grant = grant;
  }
}

/** What is known of one connection. */
class Connection {
  readonly quick: Line<Waiter> = new Line<Waiter>();
  readonly slow: Line<Waiter> = new Line<Waiter>();
  commonBytes = 0;
  reservedBytes = 0;
  /**
   * What the last of its takers has shown: those of which nothing is known yet count as the same. Undefined: none has
   * shown anything.
   */
  isSlow: boolean | undefined;

  get bytes(): number {
    return this.commonBytes + this.reservedBytes;
  }
}

export class FairBudget {
  readonly #common: ByteBudget;
  readonly #reserve: ByteBudget;
  readonly #shareBytes: number;
  readonly #patienceMs: number;
  readonly #time: BudgetTime;
  readonly #connections = new WeakMap<object, Connection>();
  /** Each waiter is in one of the two. */
  readonly #quick = new TurnsByLine<Waiter>();
  readonly #slow = new TurnsByLine<Waiter>();
  #waiting = 0;
  /** Who has the next turn at the common part. */
  #isSlowNext = false;
  #isServing = false;
  #hasMoreRoom = false;
  #stopLooking: (() => void) | undefined;

  constructor({ bytesMax, patienceMs, time = REAL_TIME }: FairBudgetOptions) {
    const reserveBytes = Math.floor(bytesMax * RESERVE_PER_BUDGET);
    const shared = { patienceMs, time, onRoom: () => this.#serve() };
    this.#common = new ByteBudget({ bytesMax: bytesMax - reserveBytes, ...shared });
    this.#reserve = new ByteBudget({ bytesMax: reserveBytes, ...shared });
    this.#shareBytes = reserveBytes * SHARE_PER_RESERVE;
    this.#patienceMs = patienceMs;
    this.#time = time;
  }

  get bytesMax(): number {
    return this.#common.bytesMax + this.#reserve.bytesMax;
  }

  /** Bytes that are held now. */
  get used(): number {
    return this.#common.used + this.#reserve.used;
  }

  /** Takers that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** One who takes again and again: a stream, or a connection whose requests are answered in turn. */
  taker(connection: object): Taker {
    const known = this.#connections.get(connection) ?? new Connection();
    this.#connections.set(connection, known);
    return new Taker(this, known);
  }

  /** For the takers alone. Of the reserve, so much must be free. */
  tryTake(taker: Taker, { bytes, evict }: Bytes, reserveBytes: number = bytes): Hold | undefined {
    if (this.#waiting === 0 && this.#common.hasRoom(bytes)) return taker.hold(this.#common, { bytes, evict });
    const isNext = taker.isQuick && this.#hasShare(taker, reserveBytes) && this.#firstForReserve() === undefined;
    if (isNext && this.#reserve.hasRoom(reserveBytes)) return taker.hold(this.#reserve, { bytes, evict });
    return this.#fromStanding(taker, bytes, () => taker.hold(this.#common, { bytes, evict }));
  }

  /** What is granted of bytes that those give back who stand still; undefined: they need not, or are too few. */
  #fromStanding<Granted>({ connection }: Taker, bytes: number, grant: () => Granted): Granted | undefined {
    const patienceMs = this.#patienceMs * STALLED_PER_PATIENCE;
    // Room that is there is for others, who wait.
    if (hasOrIsSlow(connection) || this.#isServing || this.#common.missing(bytes) === 0) return undefined;
    this.#isServing = true;
    const granted = this.#common.hasRoom(bytes, patienceMs) ? grant() : undefined;
    this.#isServing = false;
    this.#serve();
    return granted;
  }

  /** For the takers alone. */
  tryLend(taker: Taker, { bytes, evict }: Bytes): Hold | undefined {
    const freeBytes = this.#common.bytesMax - this.#common.used;
    const isLent = this.#waiting === 0 && taker.connection.commonBytes + bytes <= freeBytes;
    return isLent ? taker.hold(this.#common, { bytes, evict }) : undefined;
  }

  /** For the takers alone. */
  takeAnyway(taker: Taker, bytes: Bytes): Hold {
    return taker.hold(this.#common, bytes);
  }

  /** For the takers alone: what `take` need not wait for. */
  takeNow(taker: Taker, wish: Bytes): Hold | undefined {
    const bytes = Math.min(wish.bytes, this.#common.bytesMax);
    return this.tryTake(taker, { ...wish, bytes }, this.#reserveFor(bytes));
  }

  /** For the takers alone. */
  async take(taker: Taker, wish: Wish): Promise<Hold> {
    const { evict, signal } = wish;
    signal.throwIfAborted();
    const bytes = Math.min(wish.bytes, this.#common.bytesMax);
    const asked = { bytes, evict, signal };
    const hold = this.takeNow(taker, asked) ?? (await this.#wait(taker, asked));
    if (hold === undefined) signal.throwIfAborted();
    assert(hold !== undefined, 'A taker that gets nothing has given up');
    return hold;
  }

  /** For the takers alone: puts a waiter where it belongs by what its taker has shown meanwhile. */
  reseat(waiter: Waiter): void {
    if (this.#leave(waiter)) this.#seat(waiter);
  }

  /** For the takers alone. */
  isReserve(budget: ByteBudget): boolean {
    return budget === this.#reserve;
  }

  /** For the takers alone. */
  nowMs(): number {
    return this.#time.nowMs();
  }

  /** The bytes, or undefined when the signal came first. */
  #wait(taker: Taker, wish: Wish): Promise<Hold | undefined> {
    const { signal } = wish;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        if (this.#leave(waiter)) this.#waiting -= 1;
        taker.waiter = undefined;
        this.#serve();
        resolve(undefined);
      };
      const waiter = new Waiter(taker, wish, (hold) => {
        signal.removeEventListener('abort', giveUp);
        resolve(hold);
      });
      taker.waiter = waiter;
      this.#seat(waiter);
      this.#waiting += 1;
      signal.addEventListener('abort', giveUp, { once: true });
      this.#stopLooking ??= this.#time.every(this.#patienceMs / LOOKS_PER_PATIENCE, () => this.#look());
    });
  }

  /** What must be free for what may become so much: a page of HTTP that may become large must get on, too. */
  #reserveFor(bytes: number): number {
    return Math.min(bytes, this.#reserve.bytesMax / 2);
  }

  /** Whether the connection may have so much of the reserve. */
  #hasShare({ connection: { reservedBytes } }: Taker, bytes: number): boolean {
    return reservedBytes === 0 || reservedBytes + bytes <= this.#shareBytes;
  }

  #firstForReserve(): Waiter | undefined {
    return this.#quick.first(({ taker, wish }) => taker.isQuick && this.#hasShare(taker, this.#reserveFor(wish.bytes)));
  }

  #seat({ taker, link }: Waiter): void {
    if (taker.isQuick) this.#quick.add(taker.connection.quick, link);
    else this.#slow.add(taker.connection.slow, link);
  }

  /** False when it does not wait any more. */
  #leave({ taker, link }: Waiter): boolean {
    const { quick, slow } = taker.connection;
    return this.#quick.remove(quick, link) || this.#slow.remove(slow, link);
  }

  /** What is done again and again while somebody waits. */
  #look(): void {
    for (const budget of [this.#common, this.#reserve]) for (const hold of budget.stalled(QUICK_MS)) judgeHeld(hold);
    this.#serve();
    this.#displace();
  }

  /** Takes from those that have much and stand still, for the first of each line that has less. */
  #displace(): void {
    const waiters = [...this.#quick.firsts(), ...this.#slow.firsts()];
    const rank = ({ taker: { connection } }: Waiter): number => (connection.isSlow === false ? 0 : 1);
    waiters.sort((a, b) => rank(a) - rank(b) || a.taker.connection.bytes - b.taker.connection.bytes);
    for (const waiter of waiters.slice(0, DISPLACING_MAX)) {
      const { bytes } = waiter.wish;
      // One that was served meanwhile does not wait any more.
      if (waiter.taker.waiter !== waiter) continue;
      if (this.#fromStanding(waiter.taker, bytes, () => this.#grant(waiter, this.#common, bytes)) === true) continue;
      const needed = this.#reserveFor(bytes);
      const isForReserve = waiter.taker.isQuick && this.#hasShare(waiter.taker, needed);
      const isDone = isForReserve && this.#displaceFor(waiter, this.#reserve, needed);
      if (!isDone) this.#displaceFor(waiter, this.#common, bytes);
    }
  }

  #displaceFor(waiter: Waiter, budget: ByteBudget, freeBytes: number): boolean {
    // One that was served meanwhile does not wait any more.
    if (waiter.taker.waiter !== waiter) return true;
    const missingBytes = budget.missing(freeBytes);
    const told = displaced({
      stalled: [...budget.stalled(this.#patienceMs * STALLED_PER_PATIENCE)].filter(({ isWatched }) => isWatched),
      missingBytes,
      lightBytes: waiter.taker.connection.bytes + waiter.wish.bytes,
      heavyBytes,
    });
    if (told.length === 0) return false;
    // What they give back is for this one, whosever turn it is.
    this.#isServing = true;
    for (const hold of told) budget.evict(hold);
    this.#isServing = false;
    const isGranted = this.#grant(waiter, budget, freeBytes);
    this.#serve();
    return isGranted;
  }

  /** For the takers alone: the waiters of a connection that has turned out to be slow. */
  reseatNew({ quick }: Connection): void {
    const misplaced = [...quick.waiters.values()].filter(({ taker }) => !taker.isQuick);
    for (const waiter of misplaced) this.reseat(waiter);
  }

  /** Gives what has become free to those whose turn it is. */
  #serve(): void {
    this.#hasMoreRoom = true;
    // Whoever is told to go may do so at once, and come by here.
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#hasMoreRoom) {
      this.#hasMoreRoom = false;
      while (this.#serveReserve() || this.#serveCommon());
    }
    this.#isServing = false;
    if (this.#waiting > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }

  #serveReserve(): boolean {
    const waiter = this.#firstForReserve();
    return waiter !== undefined && this.#grant(waiter, this.#reserve, this.#reserveFor(waiter.wish.bytes));
  }

  #serveCommon(): boolean {
    const [next, other] = this.#isSlowNext ? [this.#slow, this.#quick] : [this.#quick, this.#slow];
    const waiter = next.first() ?? other.first();
    if (waiter === undefined || !this.#grant(waiter, this.#common, waiter.wish.bytes)) return false;
    this.#isSlowNext = !this.#isSlowNext;
    return true;
  }

  /** False when not so much is free. */
  #grant(waiter: Waiter, budget: ByteBudget, freeBytes: number): boolean {
    const { taker, wish, link } = waiter;
    const { quick, slow } = taker.connection;
    if (!budget.hasRoom(freeBytes)) return false;
    // Whoever was told to go to make room may have been the taker itself, which does not wait any more.
    if (!this.#quick.serve(quick, link) && !this.#slow.serve(slow, link)) return true;
    this.#waiting -= 1;
    taker.waiter = undefined;
    waiter.grant(taker.hold(budget, wish));
    return true;
  }
}

/** One who takes again and again, and is judged by how soon it lets go. */
export class Taker implements HoldKeeper {
  /** For the budget alone, and so are the next two and `hold`. */
  readonly connection: Connection;
  waiter: Waiter | undefined;
  readonly #budget: FairBudget;
  #holdCount = 0;
  /** What it has of the reserve: one hold at most, because it got that when it had none. */
  #reserved: Hold | undefined;
  /** Undefined until it has let go once. */
  #isSlow: boolean | undefined;

  /** For the budget alone. */
  constructor(budget: FairBudget, connection: Connection) {
    this.#budget = budget;
    this.connection = connection;
  }

  get isQuick(): boolean {
    return this.#holdCount === 0 && !(this.#isSlow ?? this.connection.isSlow ?? false);
  }

  /** The bytes, or undefined when there is no room for them now. */
  tryTake(bytes: number, evict: Evict): Hold | undefined {
    return this.#budget.tryTake(this, { bytes, evict });
  }

  /**
   * Bytes of the common part that nobody waits for, or undefined: as long as there is more than the connection has. n
   * connections that borrow what they can have an (n + 1)th each, and as much is free.
   */
  tryBorrow(bytes: number, evict: Evict): Hold | undefined {
    return this.#budget.tryLend(this, { bytes, evict });
  }

  /** The bytes in any case: of what cannot be refused any more, or is bounded otherwise. */
  takeAnyway(bytes: number, evict: Evict): Hold {
    return this.#budget.takeAnyway(this, { bytes, evict });
  }

  /** What `take` would get without waiting. */
  takeNow(bytes: number, evict: Evict): Hold | undefined {
    return this.#budget.takeNow(this, { bytes, evict });
  }

  /**
   * Waits for what may become so many bytes, which its owner resizes when it knows. More than the common part of the
   * budget counts as that, and of the reserve no more than half must be free.
   */
  take(bytes: number, evict: Evict, signal: AbortSignal): Promise<Hold> {
    return this.#budget.take(this, { bytes, evict, signal });
  }

  hold(budget: ByteBudget, { bytes, evict }: Bytes): Hold {
    const hold = budget.takeAnyway(bytes, evict, this);
    this.#holdCount += 1;
    if (this.#budget.isReserve(budget)) this.#reserved = hold;
    this.resized(hold, bytes);
    return hold;
  }

  /** For the holds alone. */
  resized(hold: Hold, addedBytes: number): void {
    if (hold === this.#reserved) this.connection.reservedBytes += addedBytes;
    else this.connection.commonBytes += addedBytes;
  }

  /** For the holds alone. */
  released(hold: Hold): void {
    this.#holdCount -= 1;
    this.resized(hold, -hold.bytes);
    if (hold === this.#reserved) this.#reserved = undefined;
    // Whoever goes at once has not shown that it is quick.
    if (hold.isRenewed && (hold.isTaken || this.#isLate(hold))) {
      this.#isSlow = this.#isLate(hold);
      this.connection.isSlow = this.#isSlow;
      if (this.#isSlow) this.#budget.reseatNew(this.connection);
    }
    if (this.waiter !== undefined) this.#budget.reseat(this.waiter);
  }

  /** For the budget alone: what is still held may show that a connection is slow of which nothing else is known. */
  judge(hold: Hold): void {
    if (this.connection.isSlow !== undefined || !hold.isRenewed || !this.#isLate(hold)) return;
    this.connection.isSlow = true;
    this.#budget.reseatNew(this.connection);
  }

  #isLate({ sinceMs }: Hold): boolean {
    return this.#budget.nowMs() - sinceMs > QUICK_MS;
  }
}

/** Whether a connection gets nothing from those who have one hold. */
function hasOrIsSlow({ bytes, isSlow }: Connection): boolean {
  return bytes > 0 || isSlow === true;
}

function judgeHeld(hold: Hold): void {
  if (hold.keeper instanceof Taker) hold.keeper.judge(hold);
}

function heavyBytes({ keeper }: Hold): { readonly connection: object; readonly bytes: number } {
  assert(keeper instanceof Taker, 'What is held of a fair budget was taken by a taker');
  return { connection: keeper.connection, bytes: keeper.connection.bytes };
}
