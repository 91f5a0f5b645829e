/**
 * A walk over the transactions of a range of revisions, in slices, each read from the history at once.
 *
 * Upwards, a slice has the transactions that follow, up to its size. Downwards, its first revision is estimated from
 * the sizes of the transactions before, and then has the position that is recorded for it. The scan checks that there
 * is no gap between two slices: a missing record is an error, never a shorter answer. (Q6)
 */
import { assert } from '#base';
import { type DatabaseReader, type StoredTransaction, unexpectedRow } from '#database';
import type { Direction } from '#model';
import { pulled, type SlicePace } from './event-chunks.ts';

export interface HistoryScanOptions {
  readonly direction: Direction;
  /** Revisions, both inclusive. */
  readonly first: number;
  readonly last: number;
  /** Limits the bytes of transactions in one slice, after the first slices. */
  readonly pace: SlicePace;
}

/** The first slice is small because the reader may want one event only. */
const SLICE_BYTES_FIRST = 16 * 1024;
const SLICE_GROWTH = 4;

/** The transaction of a revision, which is applied and not 0. */
export async function transactionOf(reader: DatabaseReader, revision: number): Promise<StoredTransaction> {
  // Downwards, because a slice then has the size of its transactions.
  const scan = new HistoryScan(reader, { direction: 'reverse', first: revision, last: revision, pace: pulled() });
  const [transaction] = (await scan.next()) ?? [];
  assert(transaction !== undefined, 'A pace that is pulled admits every transaction', revision);
  return transaction;
}

type Slice = readonly StoredTransaction[];

export class HistoryScan {
  readonly #reader: DatabaseReader;
  readonly #options: HistoryScanOptions;
  /** 0: nothing was read yet. */
  #sliceBytes = 0;
  /** The remaining revisions, both inclusive. */
  #first: number;
  #last: number;
  /** The position after the last of them, once it is known. */
  #end: number | undefined;
  /** Mean size of a transaction in the last slice downwards. */
  #transactionBytes: number | undefined;

  constructor(reader: DatabaseReader, options: HistoryScanOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#first = options.first;
    this.#last = options.last;
  }

  /**
   * The next transactions of the range, in its direction and at most `limit`; empty when the next one must wait for
   * room; undefined at the end.
   */
  async next(limit: number = Number.POSITIVE_INFINITY): Promise<readonly StoredTransaction[] | undefined> {
    if (this.#first > this.#last) return undefined;
    const isForward = this.#options.direction === 'forward';
    const bytes = this.#sliceBytes === 0 ? SLICE_BYTES_FIRST : this.#sliceBytes * SLICE_GROWTH;
    this.#sliceBytes = Math.min(bytes, this.#options.pace.bytes);
    const transactions = await (isForward ? this.#sliceUp(limit) : this.#sliceDown(limit));
    const admitted = this.#admitted(this.#verified(isForward ? transactions : transactions.toReversed()));
    if (isForward) this.#first += admitted.length;
    else {
      this.#last -= admitted.length;
      this.#end = admitted.at(-1)?.position ?? this.#end;
    }
    return admitted;
  }

  /** The remaining revisions, both inclusive. */
  get rest(): { readonly first: number; readonly last: number } {
    return { first: this.#first, last: this.#last };
  }

  /** Skips to this revision, which is a remaining one. */
  skipTo(revision: number): void {
    if (this.#options.direction === 'forward') this.#first = revision;
    else if (revision !== this.#last) {
      this.#last = revision;
      this.#end = undefined;
    }
  }

  #sliceUp(limit: number): Slice | Promise<Slice> {
    this.#end ??= this.#reader.end(this.#last);
    // A few transactions are probably within twice their mean size.
    const bytes = Math.min(this.#sliceBytes, limit * Math.ceil((2 * this.#end) / this.#last));
    return this.#reader.transactions({ from: this.#reader.start(this.#first), to: this.#end }, bytes, limit);
  }

  /** The last transactions, of up to twice as many bytes as the slice should have; at least one. */
  #sliceDown(limit: number): Slice | Promise<Slice> {
    const to = (this.#end ??= this.#reader.end(this.#last));
    this.#transactionBytes ??= to / this.#last;
    let count = Math.max(1, Math.min(limit, Math.floor(this.#sliceBytes / this.#transactionBytes)));
    for (; ; count = Math.floor(count / 2)) {
      const first = Math.max(this.#first, this.#last - count + 1);
      const from = this.#reader.start(first);
      if (to - from > 2 * this.#sliceBytes && first < this.#last) continue;
      this.#transactionBytes = (to - from) / (this.#last - first + 1);
      // Behind a long transaction there may be the parts of a component, which need not be read.
      return this.#reader.transactions({ from, to }, Math.min(to - from, 2 * this.#sliceBytes));
    }
  }

  /** The slice, whose revisions have no gap, must begin where the one before ended. */
  #verified(transactions: readonly StoredTransaction[]): readonly StoredTransaction[] {
    const wanted = this.#options.direction === 'forward' ? this.#first : this.#last;
    const found = transactions[0]?.revision ?? 0;
    if (found === wanted) return transactions;
    throw unexpectedRow(this.#reader.keys.position(wanted), `revision ${found} is there and not ${wanted}`);
  }

  /** The transactions that there is room for. */
  #admitted(transactions: readonly StoredTransaction[]): readonly StoredTransaction[] {
    const { pace } = this.#options;
    let byteLength = 0;
    const end = transactions.findIndex(({ bytes }, place) => {
      byteLength += bytes.length;
      return byteLength > 2 * pace.bytes && (place > 0 || !pace.admits(byteLength));
    });
    if (end === 0) this.#reader.release();
    return end < 0 ? transactions : transactions.slice(0, end);
  }
}
