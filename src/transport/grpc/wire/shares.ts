/**
 * Slots that connections share, so that none keeps the others out, however many calls it makes.
 *
 *   T9  However many calls some connections have in flight, another one gets its share: of waiting calls, and of
 *       streaming reads, each with a limit of its own.
 *
 * ```
 *   take ── more are free than the connection has ──────────────────────────> a place
 *     └── not ── another one has at least two more ──> the newest of the connection with most
 *                  └── not ──> none
 * ```
 *
 * So a single connection has half of the places at most, and n connections that take all they get an (n + 1)th each.
 * A call that may last for ever is ended when another connection has fewer.
 *
 * Not here: a client with hundreds of connections, which counts as hundreds of clients.
 */

/** Slot of one call. */
export interface Place {
  /** Does nothing after the first call. */
  release(): void;
}

interface Held extends Place {
  /** Ends the call, whose slot another connection gets. `count`: slots that its connection had. */
  readonly displace: (count: number) => void;
}

export class Shares {
  readonly #countMax: number;
  /** Slots of each connection, the newest last. */
  readonly #held = new Map<object, Held[]>();
  #used = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get used(): number {
    return this.#used;
  }

  heldBy(connection: object): number {
    return this.#held.get(connection)?.length ?? 0;
  }

  /** Takes a slot, which may be taken back; undefined when the connection has its share. */
  tryTake(connection: object, displace: Held['displace']): Place | undefined {
    const count = this.heldBy(connection);
    if (count >= this.#countMax - this.#used && !this.#takeBackFor(count)) return undefined;
    const place: Held = { displace, release: () => this.#release(connection, place) };
    const places = this.#held.get(connection);
    if (places === undefined) this.#held.set(connection, [place]);
    else places.push(place);
    this.#used += 1;
    return place;
  }

  #release(connection: object, place: Held): void {
    const places = this.#held.get(connection) ?? [];
    const at = places.lastIndexOf(place);
    if (at < 0) return;
    places.splice(at, 1);
    if (places.length === 0) this.#held.delete(connection);
    this.#used -= 1;
  }

  /** Frees a slot of the connection with most, if it then still has as many as one with `count` and the new one. */
  #takeBackFor(count: number): boolean {
    let most: readonly Held[] = [];
    for (const places of this.#held.values()) if (places.length > most.length) most = places;
    const { length } = most;
    if (length < count + 2) return false;
    const newest = most.at(-1);
    newest?.release();
    newest?.displace(length);
    return true;
  }
}
