/**
 * Bounds the streams that a connection has open, and ends a connection that makes the node work in vain.
 *
 * Clients are told the number of streams before they send anything (opening.ts); further calls wait at the client. A
 * client that cancels calls begins others in their place in the same turn of the event loop, before the cancelled ones
 * have closed. So twice as many may be open, and the rest is refused.
 *
 * Streams that were cancelled or refused, and pieces of requests that are too small, count as waste, of which a part is
 * forgotten each second.
 *
 *   T12  A client that keeps to its number of streams and cancels no more than 2,000 a second has no stream refused for
 *        it and keeps its connection. Beyond that the connection ends.
 */

const TIMES_OPEN = 2;

/** Waste of a connection before it ends, and how much of it is forgotten in a second. */
export const WASTE_MAX = 4_000;
export const WASTE_PER_SECOND = 2_000;

/** A piece of a request with fewer bytes is small: it costs as many microseconds as a large one. */
export const SMALL_PIECE_BYTES = 256;
/** Pieces of a request of which none counts as small: they are little beside the stream. */
export const FEW_PIECES = 8;

export class StreamLimits {
  readonly #streamsMax: number;
  readonly #byConnection = new WeakMap<object, ConnectionStreams>();

  constructor(streamsMax: number) {
    this.#streamsMax = TIMES_OPEN * streamsMax;
  }

  of(connection: object): ConnectionStreams {
    const known = this.#byConnection.get(connection);
    if (known !== undefined) return known;
    const streams = new ConnectionStreams(this.#streamsMax);
    this.#byConnection.set(connection, streams);
    return streams;
  }
}

export class ConnectionStreams {
  readonly #openMax: number;
  #open = 0;
  #waste = 0;
  #wasteMs = 0;

  constructor(openMax: number) {
    this.#openMax = openMax;
  }

  /** Counts a stream that has come; false: there are too many. */
  tryOpen(): boolean {
    if (this.#open >= this.#openMax) return false;
    this.#open += 1;
    return true;
  }

  closed(): void {
    this.#open -= 1;
  }

  /** Counts a piece of a request, of which so many have come. False: the connection is to end. */
  takes(pieceBytes: number, pieces: number): boolean {
    return pieceBytes >= SMALL_PIECE_BYTES || pieces <= FEW_PIECES || this.wastes();
  }

  /** Counts what was in vain. False: the connection is to end. */
  wastes(): boolean {
    const nowMs = performance.now();
    this.#waste = 1 + Math.max(0, this.#waste - (WASTE_PER_SECOND * (nowMs - this.#wasteMs)) / 1_000);
    this.#wasteMs = nowMs;
    return this.#waste <= WASTE_MAX;
  }
}
