/**
 * Places that connections share, so that none of them keeps the others out, however much it asks for.
 *
 * Invariant:
 *   T9  However many calls some connections have in flight, another one gets its share: of those that wait, of
 *       streaming reads, and of all others, each bounded for itself. A probe needs no place.
 *
 * ```
 *   take ── more are free than the connection has ──────────────────────────> a place
 *     └── not ── another one has at least two more, and some of them can be ended ──> the newest of the one that has most
 *                  └── not ──> none
 * ```
 *
 * So one connection alone has half of the places at most, and n that take whatever they get an (n + 1)th each. What
 * ends by itself becomes free for others in time; what may last for ever is ended when somebody else has less.
 *
 * Not here: connections that are opened by the hundred; they count as so many clients.
 */
import { assert, Link, LinkedList } from '#base';

/** Ends what has the place, which somebody else is given. `count`: the places of its connection until then. */
export type Displace = (count: number) => void;

/** What one connection has. */
class Holder {
  readonly link: Link<Holder> = new Link<Holder>(this);
  /** Those of its places that can be taken back, the newest last. */
  readonly lent: LinkedList<Place> = new LinkedList<Place>();
  count = 0;
}

export class Place {
  readonly holder: Holder;
  /** Undefined: it is kept until it is released. */
  readonly displace: Displace | undefined;
  readonly link: Link<Place> | undefined;
  readonly #shares: Shares;
  #isReleased = false;

  /** For the shares alone. */
  constructor(shares: Shares, holder: Holder, displace: Displace | undefined) {
    this.#shares = shares;
    this.holder = holder;
    this.displace = displace;
    this.link = displace && new Link<Place>(this);
  }

  /** Once, however often it is called. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#shares.released(this);
  }
}

export class Shares {
  readonly countMax: number;
  /** Those that have a place. */
  readonly #holders = new LinkedList<Holder>();
  readonly #byConnection = new WeakMap<object, Holder>();
  #used = 0;

  constructor(countMax: number) {
    this.countMax = countMax;
  }

  /** Places that are taken now. */
  get used(): number {
    return this.#used;
  }

  /** Places of one connection. */
  heldBy(connection: object): number {
    return this.#byConnection.get(connection)?.count ?? 0;
  }

  /** A place, or undefined when the connection has its share. With `displace` it may be taken back. */
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

  /** For the places alone. */
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

  /** Frees a place of the connection that has most, if that still has as many as the other one then. */
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
