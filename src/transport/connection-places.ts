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

/** What a connection waits for: another request, the head of its first one, the rest of what it asks. */
export type Waiting = 'idle' | 'head' | 'body';

export interface PlaceHolder {
  /** Closes its connection now. */
  end(): void;
  /** Of one that waits for the rest of a request: whether it is being answered all the same. Absent: never. */
  isBusy?(): boolean;
}

/** Whoever asks does so sooner, and who is in the middle of asking again and again, too. */
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

  /** `onEnded` is told of each connection that has made room, and what it waited for. */
  constructor(max: number, onEnded: (waiting: Waiting) => void, nowMs: () => number = () => performance.now()) {
    this.#max = max;
    this.#onEnded = onEnded;
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#count;
  }

  /** For a connection that has come, which waits for its first request; undefined: all others are being answered. */
  enter(holder: PlaceHolder): Place | undefined {
    if (this.#count >= this.#max && !this.makeRoom()) return undefined;
    this.#count += 1;
    const place = new Place(holder, (wanted) => this.#moved(place, wanted));
    place.waits('head');
    return place;
  }

  /** Ends the connection that is worth least; false: none waits. */
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

/** Of one connection, until it leaves. */
export class Place {
  /** For the places alone. */
  readonly link: Link<Place> = new Link<Place>(this);
  readonly holder: PlaceHolder;
  /** For what, and since when, while it waits. */
  waiting: Waiting = 'head';
  sinceMs = 0;
  readonly #moved: (wanted: Waiting | 'works' | 'gone') => void;
  #hasLeft = false;

  constructor(holder: PlaceHolder, moved: (wanted: Waiting | 'works' | 'gone') => void) {
    this.holder = holder;
    this.#moved = moved;
  }

  /** From now on, behind all others that do. */
  waits(waiting: Waiting): void {
    if (!this.#hasLeft) this.#moved(waiting);
  }

  works(): void {
    if (!this.#hasLeft) this.#moved('works');
  }

  /** Once, however often it is called. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#moved('gone');
    this.#hasLeft = true;
  }
}
