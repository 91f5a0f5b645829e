/**
 * Requests that differ only in numbers: one message built once, in which every marker is replaced by the digits of a
 * counter. Making a request is then a copy, and the client stays cheap.
 */
import { grpcMessage } from './http2-connection.ts';

/** Twelve characters: as wide as every number, so that no length changes. */
export const COUNTER_MARKER = '#counter####';

export interface Numbering {
  /** The number of the first markers of the first request; counts up from there. */
  readonly firstCounter: number;
  /** So many markers in a row get the same number. */
  readonly markersPerNumber: number;
  /** What a marker shows for its number, by its place in the run, from 0; absent: the number. */
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
