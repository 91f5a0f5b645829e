/**
 * How many streams a client may open on a connection at a time, as the settings of HTTP/2 tell it. What is beyond waits
 * at the client: it costs the node nothing, and is gone with its connection.
 *
 * ```
 *   first ──┬── half are open, and no call waits to be begun ────────────────────> twice as many ───┐  up to the most
 *     ^     └── fewer than half of the first are left beside calls that may last ──> the first more ──┤
 *     └────────────────────────── none was open for a minute ──────────────────────────────────────┘
 * ```
 *
 * A stream that has arrived costs a hundred microseconds before anybody can decide about it, in the turn of the event
 * loop in which it is read, and every connection is read in each turn. So what all of them may send at once grows
 * slowly, and not at all while the node is behind.
 *
 * Invariant:
 *   T11  What connections may have open beyond what they have at first grows by 256 streams a turn at most, and while
 *        calls wait to be begun only for connections whose other calls could not be sent beside those that last.
 */
import type { Http2Session } from 'node:http2';
import { Link, LinkedList } from '#base';

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

/** Of all connections, in one turn; and how long a turn is at least. */
const MORE_PER_TURN = 256;
const TURN_MS = 10;

/** Long enough that no client is about to send when it is told of fewer streams: what is beyond would be refused. */
const IDLE_MS = 60_000;

class Connection {
  readonly link: Link<Connection> = new Link<Connection>(this);
  /** Among those that use half of what they may. */
  readonly wanting: Link<Connection> = new Link<Connection>(this);
  readonly session: Session;
  limit: number;
  open = 0;
  idleSinceMs = Number.POSITIVE_INFINITY;

  constructor(session: Session, limit: number) {
    this.session = session;
    this.limit = limit;
  }
}

export class StreamLimits {
  readonly #options: StreamLimitsOptions;
  readonly #all = new LinkedList<Connection>();
  readonly #wanting = new LinkedList<Connection>();
  readonly #bySession = new WeakMap<Session, Connection>();
  #turn: NodeJS.Timeout | undefined;

  constructor(options: StreamLimitsOptions) {
    this.#options = options;
  }

  opened(session: Session): void {
    const connection = this.#of(session);
    connection.open += 1;
    connection.idleSinceMs = Number.POSITIVE_INFINITY;
    if (!this.#wantsMore(connection) || this.#wanting.has(connection.wanting)) return;
    this.#wanting.append(connection.wanting);
    this.#awaitTurn();
  }

  closed(session: Session): void {
    const connection = this.#of(session);
    connection.open -= 1;
    if (connection.open === 0) connection.idleSinceMs = performance.now();
  }

  /** Connections without a stream for long have as many as at first. */
  sweep(nowMs: number): void {
    const { first } = this.#options;
    for (const connection of this.#all.values()) {
      const { limit, idleSinceMs } = connection;
      if (limit > first && nowMs - idleSinceMs > IDLE_MS) set(connection, first);
    }
  }

  close(): void {
    clearTimeout(this.#turn);
  }

  #wantsMore({ limit, open }: Connection): boolean {
    return open >= limit / 2 && limit < this.#options.most;
  }

  #awaitTurn(): void {
    if (this.#turn !== undefined || this.#wanting.size === 0) return;
    this.#turn = setTimeout(() => {
      this.#turn = undefined;
      this.#widen();
      this.#awaitTurn();
    }, TURN_MS).unref();
  }

  /** Those that got nothing for long come first. */
  #widen(): void {
    let left = MORE_PER_TURN;
    // As many as there are now: those that get some go to the end.
    for (let looks = this.#wanting.size; looks > 0 && left > 0; looks--) {
      const connection = this.#wanting.first;
      if (connection === undefined) return;
      this.#wanting.toEnd(connection.wanting);
      const more = Math.min(left, this.#moreFor(connection));
      if (more > 0 && set(connection, connection.limit + more)) left -= more;
      if (!this.#wantsMore(connection)) this.#wanting.remove(connection.wanting);
    }
  }

  #moreFor(connection: Connection): number {
    const { first, most, isBehind, lasting } = this.#options;
    const { limit, session } = connection;
    if (!this.#wantsMore(connection)) return 0;
    if (!isBehind()) return Math.min(most - limit, limit);
    return limit - lasting(session) < first / 2 ? Math.min(most - limit, first) : 0;
  }

  #of(session: Session): Connection {
    const known = this.#bySession.get(session);
    if (known !== undefined) return known;
    const connection = new Connection(session, this.#options.first);
    this.#bySession.set(session, connection);
    this.#all.append(connection.link);
    session.once('close', () => {
      this.#all.remove(connection.link);
      this.#wanting.remove(connection.wanting);
    });
    return connection;
  }
}

/** False: the client has not acknowledged what it was told before, or is gone. */
function set(connection: Connection, limit: number): boolean {
  const { session } = connection;
  if (session.destroyed || session.closed || session.pendingSettingsAck) return false;
  session.settings({ maxConcurrentStreams: limit });
  connection.limit = limit;
  return true;
}
