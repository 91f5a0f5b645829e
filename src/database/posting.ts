/**
 * Posting entries: for every event of a list, where it is and when it took effect. An index hit therefore needs one
 * page and no walk, and a time range is decided without loading anything.
 *
 * An entry is written relative to the one before it in its row (the first one relative to zeros):
 * ```
 * varint revision delta · 4 + time kind
 *   delta 0:  varint index delta (1 or more), varint offset delta
 *   else:     varint index, varint page offset, varint offset
 * time kind 0: the same effective time as the entry before
 *           1: zigzag seconds delta, varint milliseconds
 *           2: zigzag seconds delta, varint nanoseconds
 * ```
 * page offset: how many revisions before this one the event's page begins. offset: of the event's length in the body
 * of that page. Both are local to a replica, because pages are; everything else is the same on all of them.
 */
import type { ByteReader, ByteWriter } from '#base';
import type { Position } from '#model';

export interface PostingEntry extends Position {
  readonly pageOffset: number;
  readonly offset: number;
  /** Effective time: Unix seconds and nanoseconds. */
  readonly seconds: number;
  readonly nanos: number;
}

const TIME_SAME = 0;
const TIME_MILLIS = 1;
const TIME_NANOS = 2;
const TIME_KINDS = 4;
const NANOS_PER_MILLI = 1_000_000;

/** The entry that the next one is written, or read, relative to. Mutable: it moves along. */
export class PostingPlace {
  revision = 0;
  index = 0;
  pageOffset = 0;
  offset = 0;
  seconds = 0;
  nanos = 0;

  reset(): void {
    this.set(ZERO);
  }

  set(entry: PostingEntry): void {
    this.revision = entry.revision;
    this.index = entry.index;
    this.pageOffset = entry.pageOffset;
    this.offset = entry.offset;
    this.seconds = entry.seconds;
    this.nanos = entry.nanos;
  }
}

const ZERO: PostingEntry = { revision: 0, index: 0, pageOffset: 0, offset: 0, seconds: 0, nanos: 0 };

/** Appends the entry and moves `last` to it. Positions grow along a list. */
export function writePosting(into: ByteWriter, last: PostingPlace, entry: PostingEntry): void {
  const revisionDelta = entry.revision - last.revision;
  const timeKind = timeKindOf(last, entry);
  into.varint(revisionDelta * TIME_KINDS + timeKind);
  if (revisionDelta === 0) {
    into.varint(entry.index - last.index);
    into.varint(entry.offset - last.offset);
  } else {
    into.varint(entry.index);
    into.varint(entry.pageOffset);
    into.varint(entry.offset);
  }
  if (timeKind !== TIME_SAME) {
    into.zigzag(entry.seconds - last.seconds);
    into.varint(timeKind === TIME_MILLIS ? entry.nanos / NANOS_PER_MILLI : entry.nanos);
  }
  last.set(entry);
}

function timeKindOf(last: PostingPlace, entry: PostingEntry): number {
  if (entry.seconds === last.seconds && entry.nanos === last.nanos) return TIME_SAME;
  return entry.nanos % NANOS_PER_MILLI === 0 ? TIME_MILLIS : TIME_NANOS;
}

/** Moves `last` to the next entry. False when the bytes are none: the row is corrupt. */
function readPosting(from: ByteReader, last: PostingPlace): boolean {
  const first = from.varint();
  const revisionDelta = Math.floor(first / TIME_KINDS);
  const timeKind = first % TIME_KINDS;
  last.revision += revisionDelta;
  if (revisionDelta === 0) {
    last.index += from.varint();
    last.offset += from.varint();
  } else {
    last.index = from.varint();
    last.pageOffset = from.varint();
    last.offset = from.varint();
  }
  if (timeKind !== TIME_SAME) {
    last.seconds += from.zigzag();
    last.nanos = from.varint() * (timeKind === TIME_MILLIS ? NANOS_PER_MILLI : 1);
  }
  return !from.failed && timeKind <= TIME_NANOS;
}

/** A run of entries in order of position, unpacked once; half of it costs no objects. */
export class PostingBlock {
  static readonly EMPTY: PostingBlock = new PostingBlock(new Float64Array(0), 0);

  readonly count: number;
  readonly #numbers: Float64Array;

  private constructor(numbers: Float64Array, count: number) {
    this.#numbers = numbers;
    this.count = count;
  }

  /** Undefined when the bytes are not `count` entries. */
  static read(from: ByteReader, count: number): PostingBlock | undefined {
    // The smallest entry has three bytes, so a count beyond that is a lie that must not cost memory.
    if (count * 3 > from.left) return undefined;
    const numbers = new Float64Array(count * NUMBERS);
    const last = new PostingPlace();
    for (let place = 0; place < count; place++) {
      if (!readPosting(from, last)) return undefined;
      const at = place * NUMBERS;
      numbers[at] = last.revision;
      numbers[at + 1] = last.index;
      numbers[at + 2] = last.pageOffset;
      numbers[at + 3] = last.offset;
      numbers[at + 4] = last.seconds;
      numbers[at + 5] = last.nanos;
    }
    return new PostingBlock(numbers, count);
  }

  revision(place: number): number {
    return this.#numbers[place * NUMBERS] ?? 0;
  }

  index(place: number): number {
    return this.#numbers[place * NUMBERS + 1] ?? 0;
  }

  seconds(place: number): number {
    return this.#numbers[place * NUMBERS + 4] ?? 0;
  }

  nanos(place: number): number {
    return this.#numbers[place * NUMBERS + 5] ?? 0;
  }

  entry(place: number): PostingEntry {
    const at = place * NUMBERS;
    return {
      revision: this.#numbers[at] ?? 0,
      index: this.#numbers[at + 1] ?? 0,
      pageOffset: this.#numbers[at + 2] ?? 0,
      offset: this.#numbers[at + 3] ?? 0,
      seconds: this.#numbers[at + 4] ?? 0,
      nanos: this.#numbers[at + 5] ?? 0,
    };
  }

  /** The first place whose position is at or after `position`; `count` when there is none. */
  firstAtOrAfter(position: Position): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBefore(middle, position)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(place: number, position: Position): boolean {
    const revision = this.revision(place);
    return revision === position.revision ? this.index(place) < position.index : revision < position.revision;
  }
}

const NUMBERS = 6;
