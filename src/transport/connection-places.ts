/**
 * Connections at a time, and which of them makes room when there are as many as there may be and another one comes.
 *
 * ```
 *   comes ── nothing whole was asked yet: head ──┐
 *     asks, and sends on: body ──────────────────┼── full, and somebody comes: idle before head before body,
 *     is answered: works                         │   and of these the one that has waited longest ──> ended
 *     was answered, and asks nothing: idle ──────┘
 * ```
 *
 * Who opens connections and never asks, or asks by halves, keeps nobody out: whoever comes has the place of the one
 * that has waited longest for a whole request. One that is kept between requests is worth little, because its client
 * expects it to be closed at any time, and asks again on another one. A connection that is being answered has its place
 * until it was; if all are, the one that comes is closed.
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

/** In the order in which they make room. */
const ORDER: readonly Waiting[] = ['idle', 'head', 'body'];

export class ConnectionPlaces {
  readonly #max: number;
  readonly #onEnded: (waiting: Waiting) => void;
  readonly #waiting: Readonly<Record<Waiting, LinkedList<Place>>> = {
    idle: new LinkedList<Place>(),
    head: new LinkedList<Place>(),
    body: new LinkedList<Place>(),
  };
  #count = 0;

  /** `onEnded` is told of each connection that has made room, and what it waited for. */
  constructor(max: number, onEnded: (waiting: Waiting) => void) {
    this.#max = max;
    this.#onEnded = onEnded;
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

  /** Ends the connection that has waited longest; false: none waits. */
  makeRoom(): boolean {
    for (const waiting of ORDER) {
      const list = this.#waiting[waiting];
      for (let place = list.first; place !== undefined; place = list.first) {
        if (place.holder.isBusy?.() === true) place.works();
        else {
          place.leave();
          this.#onEnded(waiting);
          place.holder.end();
          return true;
        }
      }
    }
    return false;
  }

  #moved(place: Place, wanted: Waiting | 'works' | 'gone'): void {
    place.link.list?.remove(place.link);
    if (wanted === 'gone') this.#count -= 1;
    else if (wanted !== 'works') this.#waiting[wanted].append(place.link);
  }
}

/** Of one connection, until it leaves. */
export class Place {
  /** For the places alone. */
  readonly link: Link<Place> = new Link<Place>(this);
  readonly holder: PlaceHolder;
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
