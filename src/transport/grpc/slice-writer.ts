/**
 * Sends the headers of a read, then its slices, each after the previous one was sent.
 *
 * ```
 *   small ── left soon ──> lent ── left soon ──> lent, four times as large ...
 *     ^                      │
 *     └─ left late, or ──────┴── one event has more ──> waits for room ── left soon ──> lent
 *        nothing is lent
 * ```
 *
 * A small slice is read as soon as the one before has left, however much others hold: the places of reads bound their
 * number (TM4). Larger slices use bytes that are lent while some are free; then the next slice is read while the last
 * one leaves. Only an event or transaction that exceeds a small slice waits for room, and a reader that stops is cut
 * off while others wait (T4).
 */
import type { ReadScope, SlicePace } from '#service';
import { type Account, type Hold, QUICK_MS } from '../memory-budget.ts';
import { scopeHeaders } from './metadata.ts';
import type { Call } from './wire/call.ts';
import { PIECE_BYTES } from './wire/framing.ts';

/** Some ten events. */
const SMALL_SLICE_BYTES = 16 * 1024;

/** Larger slices are not faster. */
const LENT_SLICE_BYTES = 256 * 1024;

const GROWTH = 4;

/** A slice in its frames, and the bytes that it is made from. */
const COPIES = 2;

export class SliceWriter implements SlicePace, Disposable {
  readonly #call: Call;
  readonly #account: Account;
  readonly #cut = (): void => this.#call.cut();
  #bytes = SMALL_SLICE_BYTES;
  /** Bytes of the next slice, if so many are lent. */
  #wanted = SMALL_SLICE_BYTES;
  /** Bytes of the event or transaction that did not fit into a small slice; the next one probably needs as many. */
  #needed = 0;
  /** Hold for the slice being read; absent: it is small. */
  #room: Hold | undefined;
  #leaving: Promise<void> | undefined;

  constructor(call: Call) {
    this.#call = call;
    this.#account = call.account();
  }

  get bytes(): number {
    return this.#bytes;
  }

  begin(scope: ReadScope): void {
    this.#call.begin(scopeHeaders(scope));
  }

  ready(): Promise<void> | undefined {
    if (this.#room !== undefined) return undefined;
    const room = this.#takeRoom();
    return room === undefined ? this.#call.turn(this.#bytes) : room.then(() => this.#call.turn(this.#bytes));
  }

  #takeRoom(): Promise<void> | undefined {
    const wanted = this.#wanted;
    const most = this.#roomFor(Math.max(wanted, this.#needed));
    if (wanted > SMALL_SLICE_BYTES) this.#room = this.#account.tryBorrow(most, this.#cut);
    this.#bytes = this.#room === undefined ? SMALL_SLICE_BYTES : wanted;
    if (this.#room !== undefined) return undefined;
    return this.#needed > 0 ? this.#wait() : this.#leaving;
  }

  admits(bytes: number): boolean {
    if (bytes <= 2 * this.#bytes) return true;
    this.rest();
    this.#needed = bytes;
    this.#wanted = Math.ceil(bytes / 2);
    return false;
  }

  rest(): void {
    this.#room?.release();
    this.#room = undefined;
  }

  async write(slice: Uint8Array, count: number): Promise<void> {
    await this.#leaving;
    this.#call.signal.throwIfAborted();
    const packing = this.#pack(slice);
    let frames = slice;
    if (packing !== undefined) {
      frames = (await packing) ?? slice;
      this.#call.signal.throwIfAborted();
    }
    const bytes = this.#roomFor(frames.length);
    const hold = this.#room ?? this.#account.takeAnyway(bytes, this.#cut);
    this.#room = undefined;
    hold.resize(bytes);
    if (this.#needed > 0) hold.watch();
    else hold.watchEnd();
    this.#call.write(frames, count, hold);
    if (slice.length <= SMALL_SLICE_BYTES) this.#needed = 0;
    const sliceBytes = this.#bytes;
    this.#bytes = SMALL_SLICE_BYTES;
    const sinceMs = performance.now();
    this.#leaving = this.#call.drained().then(() => this.#left(sliceBytes, performance.now() - sinceMs));
  }

  /** Resolves when everything was sent. */
  async flushed(): Promise<void> {
    await this.#leaving;
  }

  /** The same; only OK follows the written slices. */
  async end(): Promise<void> {
    this.#call.complete();
    await this.#leaving;
  }

  [Symbol.dispose](): void {
    this.rest();
  }

  /** Calls `Packer`. A slice that waited for room has none for a second copy, for which bytes must be lent. */
  #pack(slice: Uint8Array): Promise<Uint8Array | undefined> | undefined {
    if (this.#needed === 0 || this.#call.encoding === undefined) return this.#call.pack(slice);
    const room = this.#account.tryBorrow(slice.length, this.#cut);
    const packing = room && this.#call.pack(slice);
    if (packing === undefined) room?.release();
    return packing?.finally(() => room?.release());
  }

  /** Bytes to hold for a slice of this length; a large one is sent piece by piece. */
  #roomFor(bytes: number): number {
    return this.#needed > 0 ? bytes + PIECE_BYTES : COPIES * bytes;
  }

  #left(sliceBytes: number, tookMs: number): void {
    this.#leaving = undefined;
    const most = Math.max(LENT_SLICE_BYTES, Math.ceil(this.#needed / 2));
    this.#wanted = tookMs > QUICK_MS ? SMALL_SLICE_BYTES : Math.min(sliceBytes * GROWTH, most);
  }

  async #wait(): Promise<void> {
    const hold = await this.#account.take(this.#roomFor(this.#needed), this.#cut, this.#call.signal);
    this.#bytes = Math.ceil(this.#needed / 2);
    if (this.#call.ended) hold.release();
    else this.#room = hold;
  }
}
