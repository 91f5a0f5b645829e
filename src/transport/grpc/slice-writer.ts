/**
 * Sends the slices of a read: the headers, then slice after slice, each when the one before has left.
 *
 * What a slice takes is counted before it is read: no slice is read while the node holds as much unsent as it may, and
 * a reader that keeps others waiting is cut off (T4), or waits for those that do not (TM4).
 */
import type { ReadPace, ReadScope } from '#service';
import type { Hold } from '../byte-budget.ts';
import type { Taker } from '../fair-budget.ts';
import { scopeHeaders } from './metadata.ts';
import type { Call } from './wire/call.ts';

/** What is taken for the first slice: about two of the query layer, as stored and as framed. */
const SLICE_BYTES_EXPECTED = 512 * 1024;

/** A slice in its frames, and the copy of it that grpc-js makes. */
const COPIES = 2;

export class SliceWriter implements ReadPace, Disposable {
  readonly #call: Call;
  readonly #taker: Taker;
  readonly #cut = (): void => this.#call.cut();
  /** For the slice that is being read. */
  #next: Hold | undefined;
  #expected = SLICE_BYTES_EXPECTED;
  #leaving: Promise<void> = Promise.resolve();

  constructor(call: Call) {
    this.#call = call;
    this.#taker = call.taker();
  }

  begin(scope: ReadScope): void {
    this.#call.begin(scopeHeaders(scope));
  }

  ready(): Promise<void> | undefined {
    if (this.#next !== undefined) return undefined;
    this.#next = this.#taker.tryTake(this.#expected, this.#cut);
    return this.#next === undefined ? this.#wait(this.#expected) : undefined;
  }

  rest(): void {
    this.#next?.release();
    this.#next = undefined;
  }

  async write(frames: Uint8Array, count: number): Promise<void> {
    await this.#leaving;
    const { signal } = this.#call;
    signal.throwIfAborted();
    const bytes = COPIES * frames.length;
    if (this.#next === undefined) await this.#wait(bytes);
    const hold = this.#next;
    this.#next = undefined;
    this.#expected = Math.max(bytes, SLICE_BYTES_EXPECTED);
    hold?.resize(bytes);
    hold?.renew();
    this.#call.write(frames, count, hold);
    this.#leaving = this.#call.drained();
  }

  /** Resolves when everything has left. */
  flushed(): Promise<void> {
    return this.#leaving;
  }

  [Symbol.dispose](): void {
    this.rest();
  }

  async #wait(bytes: number): Promise<void> {
    const hold = await this.#taker.take(bytes, this.#cut, this.#call.signal);
    if (this.#call.ended) hold.release();
    else this.#next = hold;
  }
}
