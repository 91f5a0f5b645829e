/**
 * Bounds the open streams of a connection, and ends a connection that causes too much wasted work.
 *
 * The node announces the number of streams before clients send anything (opening.ts); further calls wait at the client.
 * The number is small, so that a crowd of clients that use all of it fits into the node. It is raised once for a
 * connection with calls that may last for ever on half of its streams: other calls could not be sent beside them.
 *
 * A client may replace cancelled calls in the same event-loop turn, before these have closed. So twice as many may be
 * open, and further ones are refused.
 *
 * Cancelled or refused streams, and pieces of requests that are too small, count as waste. A part of it is forgotten
 * each second, and some with each stream that is answered: a client that cancels less than it lets the node answer
 * costs little more than any other. A stream beyond twice the number counts many times: a client that respects the
 * number never sends it.
 *
 *   T12  A client that respects its number of streams has no stream refused for that reason, and keeps its connection,
 *        unless it cancels twice as many at once, or 500 a second, more than are answered. Then the connection ends.
 */

import type { Place } from '../../connection-places.ts';

const TIMES_OPEN = 2;

/** Waste of a cancelled or refused stream, and of one beyond the limit. */
export const STREAM_WASTE = 4;
export const BEYOND_WASTE = 16;

/** Waste for each of its streams at which a connection ends, and the decrease of all waste in a second. */
export const WASTE_PER_STREAM: number = TIMES_OPEN * STREAM_WASTE;
export const WASTE_PER_SECOND = 2_000;

/** A piece of a request with fewer bytes is small: it costs as much time as a large one. */
export const SMALL_PIECE_BYTES = 256;
/** First pieces of a request, which never count as small: they cost little beside the stream. */
export const FEW_PIECES = 8;

/** The streams of one connection. They decide what the connection waits for. */
export class ConnectionStreams {
  /** Announces the new number of streams to the client. */
  onRaise: ((streamsMax: number) => void) | undefined;
  readonly #place: Pick<Place, 'waits' | 'works'>;
  #streamsMax: number;
  #open = 0;
  /** Streams among them whose request is incomplete. */
  #arriving = 0;
  #waste = 0;
  #wasteMs = 0;

  constructor(streamsMax: number, place: Pick<Place, 'waits' | 'works'>) {
    this.#streamsMax = streamsMax;
    this.#place = place;
  }

  /** It has so many calls that may last. `raised`: streams that it gets once they are half of its streams. */
  lasting(calls: number, raised: number): void {
    if (calls < this.#streamsMax / 2 || this.#streamsMax >= raised) return;
    this.#streamsMax = raised;
    this.onRaise?.(raised);
  }

  /** Counts a new stream; false: there are too many. */
  tryOpen(): boolean {
    if (this.#open >= TIMES_OPEN * this.#streamsMax) return false;
    this.#open += 1;
    this.#arriving += 1;
    // Another incomplete request does not restart the time that the connection has waited.
    if (this.#open === 1 || this.#arriving < this.#open) this.#settle();
    return true;
  }

  /** The request of a stream is complete, or is no longer read. */
  cameWhole(): void {
    this.#arriving -= 1;
    this.#settle();
  }

  /** A stream has ended. False: it was cancelled or refused, and the connection must end. */
  closed(isAnswered: boolean): boolean {
    this.#open -= 1;
    if (this.#open === 0 || this.#arriving < this.#open) this.#settle();
    if (!isAnswered) return this.wastes(STREAM_WASTE);
    this.#waste = Math.max(0, this.#waste - STREAM_WASTE);
    return true;
  }

  /** Counts a piece of a request and its number. False: the connection must end. */
  takes(pieceBytes: number, pieces: number): boolean {
    return pieceBytes >= SMALL_PIECE_BYTES || pieces <= FEW_PIECES || this.wastes();
  }

  /** Counts waste. False: the connection is to end. */
  wastes(count = 1): boolean {
    const nowMs = performance.now();
    this.#waste = count + Math.max(0, this.#waste - (WASTE_PER_SECOND * (nowMs - this.#wasteMs)) / 1_000);
    this.#wasteMs = nowMs;
    return this.#waste <= WASTE_PER_STREAM * this.#streamsMax;
  }

  #settle(): void {
    if (this.#open === 0) this.#place.waits('idle');
    else if (this.#arriving < this.#open) this.#place.works();
    else this.#place.waits('body');
  }
}
