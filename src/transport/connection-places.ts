/**
 * Limits the number of connections, and evicts one when a new one arrives at the limit.
 *
 * ```
 *   new connection, no complete request yet: head ──┐   at the limit, for a new connection:
 *     answered, between requests: idle ─────────────┼── 1. the longest waiting of head and idle, after 1 s at least
 *     a request whose body arrives: body ───────────┘   2. head, then idle, then body; the longest waiting ──> closed
 *     being answered: works
 * ```
 *
 * Clients that open connections without complete requests keep no other client out: a new connection replaces the one
 * that has waited longest. An idle connection is worth little, because its client expects it to close at any time and
 * opens another one. A client that sends requests continuously is idle only for moments, so a crowd of new connections
 * evicts other new ones, not its connection. A connection that is being answered is never evicted; when all are, the
 * new one is closed.
 */
import { Link, LinkedList } from '#base';

/** State of a waiting connection: before another request, before its first headers, or within a body. */
export type Waiting = 'idle' | 'head' | 'body';

export interface PlaceHolder {
  end(): void;
  /** Returns whether a request is being answered before its body is complete. Absent: never. */
  isBusy?(): boolean;
}

/** Active clients send their first request, or the next one, within this time. */
const STANDS_MS = 1_000;

export class ConnectionPlaces {
  readonly #max: number;
  readonly #onEnded: (waiting: Waiting) => void;
  readonly #nowMs: () => number;
  readonly #waiting: Readonly<Record<Waiting, LinkedList<Place>>> = {
    idle: new LinkedList<Place>(),
    head: new LinkedList<Place>(),
    body: new LinkedList<Place>(),
  };
  #count = 0;

  /** `onEnded` is called for each connection that is closed for a new one, with its state. */
  constructor(max: number, onEnded: (waiting: Waiting) => void, nowMs: () => number = () => performance.now()) {
    this.#max = max;
    this.#onEnded = onEnded;
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a new connection, which waits for its first request. Undefined: all others are being answered. */
  enter(holder: PlaceHolder): Place | undefined {
    if (this.#count >= this.#max && !this.makeRoom()) return undefined;
    this.#count += 1;
    const place = new Place(holder, (wanted) => this.#moved(place, wanted));
    place.waits('head');
    return place;
  }

  /** Closes the connection that is worth least. False: none waits. */
  makeRoom(): boolean {
    for (let place = this.#worthLeast(); place !== undefined; place = this.#worthLeast()) {
      if (place.holder.isBusy?.() === true) place.works();
      else {
        const { waiting } = place;
        place.leave();
        this.#onEnded(waiting);
        place.holder.end();
        return true;
      }
    }
    return false;
  }

  #worthLeast(): Place | undefined {
    const { head, idle, body } = this.#waiting;
    const untilMs = this.#nowMs() - STANDS_MS;
    const [longest] = [head.first, idle.first]
      .filter((place) => place !== undefined && place.sinceMs <= untilMs)
      .toSorted((one, other) => (one?.sinceMs ?? 0) - (other?.sinceMs ?? 0));
    return longest ?? head.first ?? idle.first ?? body.first;
  }

  #moved(place: Place, wanted: Waiting | 'works' | 'gone'): void {
    place.link.list?.remove(place.link);
    if (wanted === 'gone') this.#count -= 1;
    else if (wanted !== 'works') {
      place.waiting = wanted;
      place.sinceMs = this.#nowMs();
      this.#waiting[wanted].append(place.link);
    }
  }
}

/** Slot of one connection, until it leaves. */
export class Place {
  /** Used by `ConnectionPlaces` only. */
  readonly link: Link<Place> = new Link<Place>(this);
  readonly holder: PlaceHolder;
  /** Its state while it waits, and the time of the last change. */
  waiting: Waiting = 'head';
  sinceMs = 0;
  readonly #moved: (wanted: Waiting | 'works' | 'gone') => void;
  #hasLeft = false;

  constructor(holder: PlaceHolder, moved: (wanted: Waiting | 'works' | 'gone') => void) {
    this.holder = holder;
    this.#moved = moved;
  }

  /** It waits from now on, after all others in the same state. */
  waits(waiting: Waiting): void {
    if (!this.#hasLeft) this.#moved(waiting);
  }

  works(): void {
    if (!this.#hasLeft) this.#moved('works');
  }

  /** Does nothing after the first call. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#moved('gone');
    this.#hasLeft = true;
  }
}
