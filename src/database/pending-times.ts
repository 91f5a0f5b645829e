/**
 * The effective times of one flush: a row for every second in every page.
 */
import { ByteWriter } from '#base';
import type { KvBatch } from '#kv';
import type { RowKeys } from './keys.ts';
import { TIME_ENTRY, writeTimeRow } from './small-rows.ts';

interface PendingSecond {
  readonly second: number;
  readonly pageStart: number;
  /** `TIME_ENTRY` numbers each. */
  readonly entries: number[];
  /** Whether the entries stand in order of time, then position. */
  sorted: boolean;
}

export class PendingTimes {
  readonly #row = new ByteWriter();
  #all: PendingSecond[] = [];
  #ofPage = new Map<number, PendingSecond>();
  #page = -1;
  #last: PendingSecond | undefined;

  /** Events come in order of position. */
  add(
    pageStart: number,
    event: {
      readonly revision: number;
      readonly index: number;
      readonly offset: number;
      readonly seconds: number;
      readonly nanos: number;
    },
  ): void {
    const second = this.#secondOf(pageStart, event.seconds);
    const { entries } = second;
    if (entries.length > 0 && (entries[entries.length - TIME_ENTRY] ?? 0) > event.nanos) second.sorted = false;
    entries.push(event.nanos, event.revision, event.index, event.offset);
  }

  flushInto(batch: KvBatch, keys: RowKeys): void {
    for (const { second, pageStart, entries, sorted } of this.#all) {
      this.#row.reset();
      writeTimeRow(this.#row, pageStart, sorted ? entries : inOrder(entries));
      batch.put(keys.time(second, pageStart), this.#row.view());
    }
  }

  clear(): void {
    this.#all = [];
    this.#ofPage.clear();
    this.#page = -1;
    this.#last = undefined;
  }

  #secondOf(pageStart: number, second: number): PendingSecond {
    if (this.#last?.second === second && this.#last.pageStart === pageStart) return this.#last;
    if (this.#page !== pageStart) {
      this.#ofPage.clear();
      this.#page = pageStart;
    }
    let found = this.#ofPage.get(second);
    if (found === undefined) {
      found = { second, pageStart, entries: [], sorted: true };
      this.#ofPage.set(second, found);
      this.#all.push(found);
    }
    this.#last = found;
    return found;
  }
}

/** Entries came in order of position, so a stable sort by time alone is the order of the row. */
function inOrder(entries: readonly number[]): readonly number[] {
  const starts = Array.from({ length: entries.length / TIME_ENTRY }, (_, place) => place * TIME_ENTRY);
  const sorted = starts.toSorted((a, b) => (entries[a] ?? 0) - (entries[b] ?? 0));
  return sorted.flatMap((start) => entries.slice(start, start + TIME_ENTRY));
}
