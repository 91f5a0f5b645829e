/**
 * The one writer of kept refusals: those of the last 1,000 entries of which somebody said that the outcome will be
 * looked up, and that were refused (ADR 0142).
 *
 *   D25  Which refusals are kept follows from the log alone, and decides nothing. A row of one, the row of its id, what
 *        went to make room and the applied row that counts it are one batch.
 *
 * ```
 * refusal  number n, counted on this replica ──► what was refused, and why      n − 1,000 goes
 * place    transaction id ──► the latest number of it                           goes with that number
 * ```
 * An id that is committed later keeps its refusal until it is the oldest: whoever looks up finds the commit first.
 * Nothing is in memory but what waits for a flush.
 */
import { assert, toHex } from '#base';
import type { KvBatch } from '#kv';
import type { RefusalMark } from './applied.ts';
import { unexpectedRow } from './corruption.ts';
import type { CheckedRefusal } from './history-import.ts';
import type { DatabaseReader } from './reader.ts';
import { encodeRefusal, type KeptRefusal, REFUSALS_KEPT, type RefusalToKeep, readRefusal } from './refusal-record.ts';
import { encodeRefusalPlace, readRefusalPlace } from './stored-refusals.ts';

interface PendingRow {
  readonly key: Uint8Array;
  /** Undefined: it goes. */
  readonly value: Uint8Array | undefined;
}

/** By their keys in hexadecimal. */
type PendingRows = Map<string, PendingRow>;

export class RefusalBook {
  readonly #reader: DatabaseReader;
  readonly #keptMax: number;
  #mark: RefusalMark;
  #current: PendingRows = new Map();
  #inFlight: PendingRows = new Map();

  /** As the rows of the mark have them. */
  constructor(reader: DatabaseReader, mark: RefusalMark, keptMax: number = REFUSALS_KEPT) {
    this.#reader = reader;
    this.#mark = mark;
    this.#keptMax = keptMax;
  }

  get mark(): RefusalMark {
    return this.#mark;
  }

  keep(refusal: RefusalToKeep): void {
    assert(refusal.place.index > this.#mark.index, 'Refusals are kept in log order', [this.#mark, refusal.place]);
    this.#put(refusal, encodeRefusal(refusal));
  }

  /** Takes a refusal of another replica over; one that is here, or has been, is passed over. Whether it was taken. */
  install({ refusal, value }: CheckedRefusal): boolean {
    if (refusal.place.index <= this.#mark.index) return false;
    this.#put(refusal, value.slice());
    return true;
  }

  flushInto(batch: KvBatch): void {
    [this.#current, this.#inFlight] = [this.#inFlight, this.#current];
    for (const { key, value } of this.#inFlight.values()) {
      if (value === undefined) batch.del(key);
      else batch.put(key, value);
    }
  }

  flushed(): void {
    this.#inFlight.clear();
  }

  #put({ transactionId, place }: Pick<KeptRefusal, 'transactionId' | 'place'>, value: Uint8Array): void {
    const { keys } = this.#reader;
    const number = this.#mark.number + 1;
    this.#change(keys.refusal(number), value);
    this.#change(keys.refusalPlace(transactionId), encodeRefusalPlace(number));
    this.#forget(number - this.#keptMax);
    this.#mark = { number, index: place.index };
  }

  /** There is none below the first, nor where the state was taken back behind it. */
  #forget(number: number): void {
    const { keys } = this.#reader;
    const key = keys.refusal(Math.max(0, number)).slice();
    const value = number < 1 ? undefined : this.#get(key);
    if (value === undefined) return;
    this.#change(key, undefined);
    const placeKey = keys.refusalPlace(readRefusal(key, value).transactionId).slice();
    const place = this.#get(placeKey);
    if (place === undefined) throw unexpectedRow(placeKey, 'the place of a refusal is missing');
    // The same id may have been refused again since.
    if (readRefusalPlace(placeKey, place) === number) this.#change(placeKey, undefined);
  }

  /** `key` is lent. */
  #change(key: Uint8Array, value: Uint8Array | undefined): void {
    const owned = key.slice();
    this.#current.set(toHex(owned), { key: owned, value });
  }

  #get(key: Uint8Array): Uint8Array | undefined {
    const name = toHex(key);
    const pending = this.#current.get(name) ?? this.#inFlight.get(name);
    return pending === undefined ? this.#reader.source.kv.get(key) : pending.value;
  }
}
