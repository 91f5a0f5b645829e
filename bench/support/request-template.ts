/**
 * Requests that differ only in numbers. The message is encoded once, and each request is a copy in which markers are
 * replaced by digits of a counter, so that requests cost the client little.
 */
import { grpcMessage } from './http2-connection.ts';

/** Has the width of a number (12 digits), so that lengths stay the same. */
export const COUNTER_MARKER = '#counter####';

export interface Numbering {
  /** Number of the first markers of the first request; it increases from there. */
  readonly firstCounter: number;
  /** Number of consecutive markers that get the same number. */
  readonly markersPerNumber: number;
  /**
   * Maps a number to the digits of a marker, by the marker's index among those with the same number; absent: the number
   * itself.
   */
  shown?(number: number, place: number): number;
}

export class RequestTemplate {
  readonly #framed: Buffer;
  readonly #places: readonly number[];
  readonly #numbering: Numbering;
  #next: number;

  constructor(body: Uint8Array, numbering: Numbering) {
    this.#framed = grpcMessage(body);
    this.#next = numbering.firstCounter;
    this.#numbering = numbering;
    const places: number[] = [];
    for (let at = this.#framed.indexOf(COUNTER_MARKER); at !== -1; at = this.#framed.indexOf(COUNTER_MARKER, at + 1)) {
      places.push(at);
    }
    this.#places = places;
  }

  next(): Buffer {
    const request = Buffer.from(this.#framed);
    const { markersPerNumber } = this.#numbering;
    let number = this.#next - 1;
    for (const [i, place] of this.#places.entries()) {
      const inRun = i % markersPerNumber;
      if (inRun === 0) number = this.#next++;
      const shown = this.#numbering.shown?.(number, inRun) ?? number;
      request.write(String(shown).padStart(COUNTER_MARKER.length, '0'), place, 'latin1');
    }
    return request;
  }
}
