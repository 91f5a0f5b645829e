/**
 * Slots that connections share, so that none keeps the others out, however many calls it makes.
 *
 * Invariant:
 *   T9  However many calls some connections have in flight, another one gets its share: of waiting calls, of streaming
 *       reads, and of all others, each with a limit of its own. A probe needs no slot.
 *
 * ```
 *   take ── more are free than the connection has ──────────────────────────> a place
 *     └── not ── another one has at least two more, and some of them can be ended ──> the newest of the largest holder
 *                  └── not ──> none
 * ```
 *
 * So a single connection has half of the places at most, and n connections that take all they get an (n + 1)th each.
 * Calls that end soon free their places by themselves. A call that may last for ever is ended when another connection
 * has fewer.
 *
 * Not here: a client with hundreds of connections, which counts as hundreds of clients.
 */
import { assert, Link, LinkedList } from '#base';

/** Ends the call that has the place, which another connection gets. `count`: places that its connection had. */
export type Displace = (count: number) => void;

/** Places of one connection. */
class Holder {
  readonly link: Link<Holder> = new Link<Holder>(this);
  /** Places that can be taken back, the newest last. */
  readonly lent: LinkedList<Place> = new LinkedList<Place>();
  count = 0;
}

export class Place {
  readonly holder: Holder;
  /** Undefined: it is held until released. */
  readonly displace: Displace | undefined;
  readonly link: Link<Place> | undefined;
  readonly #shares: Shares;
  #isReleased = false;

  /** Called by `Shares` only. */
  constructor(shares: Shares, holder: Holder, displace: Displace | undefined) {
    this.#shares = shares;
    this.holder = holder;
    this.displace = displace;
    this.link = displace && new Link<Place>(this);
  }

  /** Does nothing after the first call. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#shares.released(this);
  }
}

export class Shares {
  readonly countMax: number;
  /** Connections with a place. */
  readonly #holders = new LinkedList<Holder>();
  readonly #byConnection = new WeakMap<object, Holder>();
  #used = 0;

  constructor(countMax: number) {
    this.countMax = countMax;
  }

  /** Slots in use. */
  get used(): number {
    return this.#used;
  }

  /** Slots of one connection. */
  heldBy(connection: object): number {
    return this.#byConnection.get(connection)?.count ?? 0;
  }

  /** Takes a slot; undefined when the connection has its share. With `displace` the slot may be revoked. */
  tryTake(connection: object, displace?: Displace): Place | undefined {
    const holder = this.#holderFor(connection);
    if (holder.count >= this.countMax - this.#used && !this.#takeBackFor(holder)) return undefined;
    const place = new Place(this, holder, displace);
    if (place.link !== undefined) holder.lent.append(place.link);
    if (holder.count === 0) this.#holders.append(holder.link);
    holder.count += 1;
    this.#used += 1;
    return place;
  }

  /** Called by `Place` only. */
  released({ holder, link }: Place): void {
    if (link !== undefined) holder.lent.remove(link);
    holder.count -= 1;
    if (holder.count === 0) this.#holders.remove(holder.link);
    this.#used -= 1;
    assert(this.#used >= 0, 'No more places are given back than were taken', this.#used);
  }

  #holderFor(connection: object): Holder {
    const known = this.#byConnection.get(connection);
    if (known !== undefined) return known;
    const holder = new Holder();
    this.#byConnection.set(connection, holder);
    return holder;
  }

  /** Frees a place of the connection with most, if it then still has as many as this one. */
  #takeBackFor(holder: Holder): boolean {
    let most: Holder | undefined;
    let mostCount = holder.count + 1;
    for (const other of this.#holders.values()) {
      if (other.count <= mostCount || other.lent.size === 0) continue;
      most = other;
      mostCount = other.count;
    }
    const newest = most?.lent.last;
    if (newest === undefined) return false;
    newest.release();
    newest.displace?.(mostCount);
    return true;
  }
}
