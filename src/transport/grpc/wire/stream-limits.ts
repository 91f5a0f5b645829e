/**
 * How many streams a client may open on a connection at a time, as the settings of HTTP/2 tell it. What is beyond waits
 * at the client: it costs the node nothing, and is gone with its connection.
 *
 * ```
 *   first ──┬── half are open, and no call waits to be begun ────────────────> most, for as long as it is connected
 *           └── fewer than half are left beside calls that may last ──────────────^
 * ```
 *
 * A stream that has arrived costs tens of microseconds before anybody can decide about it, in the turn of the event
 * loop in which it is read, and every connection is read in each turn. So what all of them may send at once grows
 * slowly, and not at all while the node is behind.
 *
 * A client that cancels calls begins others in their place at once, and both are read in one turn. So there may be
 * twice as many in a turn as a connection may have open, those included that were cancelled in it. What is beyond is
 * refused, and so is what comes behind 4,000 that were cancelled of late: whoever goes on then is cut off, of the
 * former with a hundred a second, of the latter with two thousand.
 *
 * Invariants:
 *   T11  What connections may have open beyond what they have at first grows by 256 streams a turn at most, or that of
 *        one connection when none grew for long, and while calls wait to be begun only for those whose other calls
 *        could not be sent beside those that last.
 *   T12  Who keeps to the streams that it is allowed, cancels no more than 2,000 a second, and no more than it is allowed
 *        in a turn, has none refused for it. What a connection makes the node do in a turn is bounded all the same.
 */
import type { Http2Session } from 'node:http2';
import { Link, LinkedList } from '#base';
import { FadingCount } from './fading-count.ts';

/** What is used of a connection. */
export type Session = Pick<Http2Session, 'settings' | 'pendingSettingsAck' | 'destroyed' | 'closed'> & {
  once(event: 'close', listener: () => void): unknown;
};

export interface StreamLimitsOptions {
  readonly first: number;
  readonly most: number;
  /** Whether calls wait to be begun. */
  readonly isBehind: () => boolean;
  /** Calls of a connection that may last long. */
  readonly lasting: (connection: object) => number;
}

/** `refused`: too many for this turn; `flood`: so many were refused that the connection is to end. */
export type Verdict = 'taken' | 'refused' | 'flood';

/** Of all connections, in one turn; and how long a turn is at least. */
const MORE_PER_TURN = 256;
const TURN_MS = 10;

/** What may come in a turn of the event loop, by what may be open. */
const TIMES_PER_TURN = 2;

/** Streams of a connection that are cancelled before it gets no more, and how many are forgotten in a second. */
const CANCELLED_MAX = 4_000;
const CANCELLED_PER_SECOND = 2_000;

/** Streams of a connection that are refused before it ends, and how many of them are forgotten in a second. */
export const REFUSALS_MAX = 1_000;
const REFUSED_PER_SECOND = 100;

class Connection {
  /** Among those that use half of what they may. */
  readonly wanting: Link<Connection> = new Link<Connection>(this);
  readonly session: Session;
  limit: number;
  open = 0;
  /** Those that were closed in this turn of the event loop. */
  closed = 0;
  turn = 0;
  readonly cancelled: FadingCount = new FadingCount(CANCELLED_PER_SECOND);
  readonly refused: FadingCount = new FadingCount(REFUSED_PER_SECOND);
  /** Those behind too many that were cancelled, which who keeps to its streams may have, too. */
  readonly refusedBehind: FadingCount = new FadingCount(CANCELLED_PER_SECOND);

  constructor(session: Session, limit: number) {
    this.session = session;
    this.limit = limit;
  }
}

export class StreamLimits {
  readonly #options: StreamLimitsOptions;
  readonly #wanting = new LinkedList<Connection>();
  readonly #bySession = new WeakMap<Session, Connection>();
  #growing: NodeJS.Timeout | undefined;
  /** What connections may be allowed more, and since when nothing was added to it. */
  #more: number;
  #moreMs = Number.NEGATIVE_INFINITY;
  /** Turns of the event loop in which streams came or went. */
  #turn = 1;
  #isTurning = false;

  constructor(options: StreamLimitsOptions) {
    this.#options = options;
    this.#more = options.most - options.first;
  }

  /** Of a stream that has come; `closed` is called for one that is taken. */
  opened(session: Session): Verdict {
    const connection = this.#of(session);
    this.#enterTurn(connection);
    if (hasTooMany(connection)) return refuse(connection.refused);
    if (connection.cancelled.count >= CANCELLED_MAX) return refuse(connection.refusedBehind);
    connection.open += 1;
    if (this.#wantsMore(connection) && !this.#wanting.has(connection.wanting)) {
      this.#wanting.append(connection.wanting);
      this.#awaitGrowth();
    }
    return 'taken';
  }

  closed(session: Session, { isCancelled }: { readonly isCancelled: boolean }): void {
    const connection = this.#of(session);
    this.#enterTurn(connection);
    connection.open -= 1;
    connection.closed += 1;
    if (isCancelled) connection.cancelled.add();
  }

  close(): void {
    clearTimeout(this.#growing);
  }

  #enterTurn(connection: Connection): void {
    if (!this.#isTurning) {
      this.#isTurning = true;
      setImmediate(() => {
        this.#isTurning = false;
        this.#turn += 1;
      });
    }
    if (connection.turn === this.#turn) return;
    connection.turn = this.#turn;
    connection.closed = 0;
  }

  #wantsMore({ limit, open }: Connection): boolean {
    return open >= limit / 2 && limit < this.#options.most;
  }

  #awaitGrowth(): void {
    if (this.#growing !== undefined || this.#wanting.size === 0) return;
    this.#growing = setTimeout(() => {
      this.#growing = undefined;
      this.#grow();
      this.#awaitGrowth();
    }, TURN_MS).unref();
  }

  /** Those that wait for longest come first. */
  #grow(): void {
    const { first, most } = this.#options;
    const nowMs = performance.now();
    const turns = Math.max(1, Math.floor((nowMs - this.#moreMs) / TURN_MS));
    this.#more = Math.min(most - first, this.#more + turns * MORE_PER_TURN);
    this.#moreMs = nowMs;
    for (let looks = this.#wanting.size; looks > 0; looks--) {
      const connection = this.#wanting.first;
      if (connection === undefined) return;
      if (this.#mayHaveMore(connection)) {
        if (this.#more < most - first) return;
        if (tell(connection, most)) this.#more -= most - first;
      }
      if (this.#wantsMore(connection)) this.#wanting.toEnd(connection.wanting);
      else this.#wanting.remove(connection.wanting);
    }
  }

  #mayHaveMore(connection: Connection): boolean {
    const { first, isBehind, lasting } = this.#options;
    if (!this.#wantsMore(connection)) return false;
    return !isBehind() || connection.limit - lasting(connection.session) < first / 2;
  }

  #of(session: Session): Connection {
    const known = this.#bySession.get(session);
    if (known !== undefined) return known;
    const connection = new Connection(session, this.#options.first);
    this.#bySession.set(session, connection);
    session.once('close', () => this.#wanting.remove(connection.wanting));
    return connection;
  }
}

function hasTooMany({ open, closed, limit }: Connection): boolean {
  return open + closed >= TIMES_PER_TURN * limit;
}

function refuse(refused: FadingCount): Verdict {
  if (refused.count >= REFUSALS_MAX) return 'flood';
  refused.add();
  return 'refused';
}

/** False: the connection has gone, or has not answered what it was told before. */
function tell(connection: Connection, limit: number): boolean {
  const { session } = connection;
  if (session.destroyed || session.closed || session.pendingSettingsAck) return false;
  session.settings({ maxConcurrentStreams: limit });
  connection.limit = limit;
  return true;
}
