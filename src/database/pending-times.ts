/**
 * The effective times of one flush: a row for every second. A row has whole transactions, so that its first revision,
 * which is in its key, distinguishes it from the other rows of its second.
 */
import { ByteWriter } from '#base';
import type { KvBatch } from '#kv';
import { putRow } from './corruption.ts';
import { startOfTimes, writeChunk } from './head.ts';
import type { RowKeys, TimeRowKey } from './keys.ts';
import { type PackedEntry, PostingPlace, writePosting } from './posting.ts';

interface PendingSecond extends TimeRowKey {
  /** `NUMBERS` for each event, in order of position. */
  readonly entries: number[];
}

/** Numbers of one event: revision, index, position, nanoseconds, extra. */
const NUMBERS = 5;
/** Numbers of a row that takes no other transaction: a read of a few events should not read a thousand. */
const NUMBERS_MAX = NUMBERS * 256;

export class PendingTimes {
  readonly #row = new ByteWriter();
  readonly #packed = new ByteWriter();
  readonly #entry = new PostingPlace();
  #all: PendingSecond[] = [];
  readonly #bySecond = new Map<number, PendingSecond>();
  #last: PendingSecond | undefined;

  /** Events come in order of position. */
  add(event: PackedEntry): void {
    const { entries } = this.#secondOf(event);
    entries.push(event.revision, event.index, event.position, event.nanos, event.extra);
  }

  flushInto(batch: KvBatch, keys: RowKeys): void {
    for (const second of this.#all) {
      this.#pack(second);
      this.#row.reset();
      writeChunk(this.#row, second.entries.length / NUMBERS, this.#packed.view());
      putRow(batch, keys.time(second.seconds, second.firstRevision), this.#row);
    }
  }

  clear(): void {
    this.#all = [];
    this.#bySecond.clear();
    this.#last = undefined;
  }

  #pack(second: PendingSecond): void {
    const [last, entry, { entries }] = [startOfTimes(second), this.#entry, second];
    this.#packed.reset();
    entry.seconds = second.seconds;
    for (let at = 0; at < entries.length; at += NUMBERS) {
      entry.revision = entries[at] ?? 0;
      entry.index = entries[at + 1] ?? 0;
      entry.position = entries[at + 2] ?? 0;
      entry.nanos = entries[at + 3] ?? 0;
      entry.extra = entries[at + 4] ?? 0;
      writePosting(this.#packed, last, entry);
    }
  }

  #secondOf({ seconds, revision }: PackedEntry): PendingSecond {
    const last = this.#last?.seconds === seconds ? this.#last : this.#bySecond.get(seconds);
    const isFull = last !== undefined && last.entries.length >= NUMBERS_MAX && last.entries.at(-NUMBERS) !== revision;
    this.#last = last === undefined || isFull ? this.#begin({ seconds, firstRevision: revision }) : last;
    return this.#last;
  }

  #begin(key: TimeRowKey): PendingSecond {
    const second = { ...key, entries: [] };
    this.#bySecond.set(key.seconds, second);
    this.#all.push(second);
    return second;
  }
}
