/**
 * The transaction ids of one flush, found by hash until their rows are in the store.
 */
import { ByteWriter, copyRange, equalsRange } from '#base';
import type { KvBatch } from '#kv';
import { putRow } from './corruption.ts';
import type { KeyHash } from './key-hash.ts';
import type { RowKeys } from './keys.ts';
import { writeNumberRow } from './small-rows.ts';

/** Bytes of a transaction id. */
export const TRANSACTION_ID_BYTES = 16;

interface PendingTransaction {
  readonly id: Uint8Array;
  readonly revision: number;
  /** Another one with the same hash. */
  readonly next: PendingTransaction | undefined;
}

export class PendingTransactions {
  readonly #row = new ByteWriter(64);
  readonly #byHash = new Map<number, PendingTransaction>();

  /** Notes the revision of the transaction with the id `bytes[from, from + 16)`; `hash` is that of the id. */
  add(hash: KeyHash, bytes: Uint8Array, from: number, revision: number): void {
    const place = hash.high | 0;
    const id = copyRange(bytes, from, from + TRANSACTION_ID_BYTES);
    this.#byHash.set(place, { id, revision, next: this.#byHash.get(place) });
  }

  find(hash: KeyHash, bytes: Uint8Array, from: number): number | undefined {
    let found = this.#byHash.get(hash.high | 0);
    while (found !== undefined && !equalsRange(found.id, bytes, from, from + TRANSACTION_ID_BYTES)) found = found.next;
    return found?.revision;
  }

  flushInto(batch: KvBatch, keys: RowKeys): void {
    for (const chain of this.#byHash.values()) {
      for (let each: PendingTransaction | undefined = chain; each !== undefined; each = each.next) {
        this.#row.reset();
        writeNumberRow(this.#row, each.revision);
        putRow(batch, keys.transaction(each.id), this.#row);
      }
    }
  }

  clear(): void {
    this.#byHash.clear();
  }
}
