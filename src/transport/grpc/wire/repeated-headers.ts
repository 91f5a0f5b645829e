/**
 * Headers that a client has sent more than once. node:http2 keeps only the first `authorization` and its like, and
 * joins other values. It reports the headers as sent when it passes the stream on, which may be after the request.
 */
export class RepeatedHeaders {
  /** Undefined once the stream was handed on. */
  #handedOn: PromiseWithResolvers<void> | 'awaited' | undefined = 'awaited';
  /** Names and values alternating; absent: each was sent once. */
  #raw: readonly string[] | undefined;

  /** Undefined: already known. */
  get untilKnown(): Promise<void> | undefined {
    if (this.#handedOn === 'awaited') this.#handedOn = Promise.withResolvers();
    return this.#handedOn?.promise;
  }

  /** Matches `headers` with the names and values in `raw`, from which they were made. */
  handOn(headers: object, raw: readonly string[]): void {
    const pairs = raw.length / 2;
    if (pairs > Object.keys(headers).length) this.#raw = raw;
    const waiting = this.#handedOn;
    this.#handedOn = undefined;
    if (waiting !== 'awaited') waiting?.resolve();
  }

  /** True when there are repeated headers. */
  get isAny(): boolean {
    return this.#raw !== undefined;
  }

  /** All values, by a lowercase name; none if it was sent once. A cookie may be split (RFC 9113, 8.2.3). */
  values(name: string): readonly string[] {
    if (this.#raw === undefined || name === 'cookie') return [];
    const values = this.#raw.filter((_value, at, raw) => at % 2 === 1 && raw[at - 1] === name);
    return values.length > 1 ? values : [];
  }
}
