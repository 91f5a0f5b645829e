/**
 * Which headers a client has sent more than once. In what node:http2 makes of them, of `authorization` and its like
 * there is the first alone, and other values are joined. What came in truth it says when it hands the stream on, which
 * may be when the request has come already.
 */
export class RepeatedHeaders {
  /** Undefined once it was handed on. */
  #handedOn: PromiseWithResolvers<void> | 'awaited' | undefined = 'awaited';
  /** Names and values in turn; absent: all were sent once. */
  #raw: readonly string[] | undefined;

  /** Undefined: it is known. */
  get untilKnown(): Promise<void> | undefined {
    if (this.#handedOn === 'awaited') this.#handedOn = Promise.withResolvers();
    return this.#handedOn?.promise;
  }

  /** `headers`: what was made of the names and values in `raw`. */
  handOn(headers: object, raw: readonly string[]): void {
    const pairs = raw.length / 2;
    if (pairs > Object.keys(headers).length) this.#raw = raw;
    const waiting = this.#handedOn;
    this.#handedOn = undefined;
    if (waiting !== 'awaited') waiting?.resolve();
  }

  /** Whether there are such headers. */
  get isAny(): boolean {
    return this.#raw !== undefined;
  }

  /** All values, by a lowercase name; none if it was sent once. A cookie may come in pieces (RFC 9113, 8.2.3). */
  values(name: string): readonly string[] {
    if (this.#raw === undefined || name === 'cookie') return [];
    const values = this.#raw.filter((_value, at, raw) => at % 2 === 1 && raw[at - 1] === name);
    return values.length > 1 ? values : [];
  }
}
