/**
 * Posting entries: for every event of a list its position, its effective time and its recorded time. An index hit
 * therefore needs one read of the history, and a time range is decided without loading anything.
 *
 * An entry is written relative to the one before it in its row (the first one relative to zeros):
 * ```
 * varint revision delta · 8 + has extra · 4 + time kind
 * varint index (delta 0: index delta), varint position delta
 * time kind 0: the same effective time as the entry before
 *           1: zigzag seconds delta, varint milliseconds
 *           2: zigzag seconds delta, varint nanoseconds
 * extra: varint zigzag(recorded ms − effective ms) · 2 + has a stored id, left out when it is 0
 * ```
 * position: of the event's length in the history, which grows along a list. Everything follows from the log alone.
 */
import type { ByteReader, ByteWriter } from '#base';
import type { Position } from '#model';

/** Where an event is. */
export interface EventPlace extends Position {
  /** Position of its length in the history; its canonical bytes follow. */
  readonly position: number;
}

export interface PostingEntry extends EventPlace {
  /** Effective time: Unix seconds and nanoseconds. */
  readonly seconds: number;
  readonly nanos: number;
  readonly recordedTimeMs: number;
  /** The id that it is stored under is not the one in its bytes. */
  readonly hasStoredId: boolean;
}

interface TimedEvent {
  readonly seconds: number;
  readonly nanos: number;
  readonly storedId: string | undefined;
}

const TIME_SAME = 0;
const TIME_MILLIS = 1;
const TIME_NANOS = 2;
const TIME_KINDS = 4;
const HAS_EXTRA = 4;
const FLAGS = 8;
const NANOS_PER_MILLI = 1_000_000;

/** An entry as it is written. */
export interface PackedEntry extends EventPlace {
  readonly seconds: number;
  readonly nanos: number;
  /** See `extraOf`. */
  readonly extra: number;
}

/** The entry that the next one is written, or read, relative to. Mutable: it moves along. */
export class PostingPlace implements PackedEntry {
  revision = 0;
  index = 0;
  position = 0;
  seconds = 0;
  nanos = 0;
  extra = 0;

  reset(): void {
    this.set(ZERO);
  }

  set(entry: PackedEntry): void {
    this.revision = entry.revision;
    this.index = entry.index;
    this.position = entry.position;
    this.seconds = entry.seconds;
    this.nanos = entry.nanos;
    this.extra = entry.extra;
  }
}

const ZERO = new PostingPlace();

/** The extra field of an event's entry: 0 if it took effect when it was recorded, and has no stored id. */
export function extraOf(event: TimedEvent, recordedTimeMs: number): number {
  const lag = recordedTimeMs - effectiveMsOf(event.seconds, event.nanos);
  return (lag < 0 ? -2 * lag - 1 : 2 * lag) * 2 + (event.storedId === undefined ? 0 : 1);
}

function effectiveMsOf(seconds: number, nanos: number): number {
  return seconds * 1000 + Math.floor(nanos / NANOS_PER_MILLI);
}

/** Appends the entry and moves `last` to it. Positions grow along a list. */
export function writePosting(into: ByteWriter, last: PostingPlace, entry: PackedEntry): void {
  const revisionDelta = entry.revision - last.revision;
  const timeKind = timeKindOf(last, entry);
  into.varint(revisionDelta * FLAGS + (entry.extra === 0 ? 0 : HAS_EXTRA) + timeKind);
  into.varint(revisionDelta === 0 ? entry.index - last.index : entry.index);
  into.varint(entry.position - last.position);
  if (timeKind !== TIME_SAME) {
    into.zigzag(entry.seconds - last.seconds);
    into.varint(timeKind === TIME_MILLIS ? entry.nanos / NANOS_PER_MILLI : entry.nanos);
  }
  if (entry.extra !== 0) into.varint(entry.extra);
  last.set(entry);
}

function timeKindOf(last: PackedEntry, entry: PackedEntry): number {
  if (entry.seconds === last.seconds && entry.nanos === last.nanos) return TIME_SAME;
  return entry.nanos % NANOS_PER_MILLI === 0 ? TIME_MILLIS : TIME_NANOS;
}

/** Moves `last` to the next entry. False when the bytes are none: the row is corrupt. */
export function readPosting(from: ByteReader, last: PostingPlace): boolean {
  const first = from.varint();
  const revisionDelta = Math.floor(first / FLAGS);
  const timeKind = first % TIME_KINDS;
  last.revision += revisionDelta;
  last.index = from.varint() + (revisionDelta === 0 ? last.index : 0);
  last.position += from.varint();
  if (timeKind !== TIME_SAME) {
    last.seconds += from.zigzag();
    last.nanos = from.varint() * (timeKind === TIME_MILLIS ? NANOS_PER_MILLI : 1);
  }
  last.extra = first % FLAGS >= HAS_EXTRA ? from.varint() : 0;
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

  /** Undefined when the bytes are not `count` entries, the first of which is relative to `last`. */
  static read(from: ByteReader, count: number, last: PostingPlace = new PostingPlace()): PostingBlock | undefined {
    // The smallest entry has three bytes, so a count beyond that is a lie that must not cost memory.
    if (count * 3 > from.left) return undefined;
    const numbers = new Float64Array(count * NUMBERS);
    for (let place = 0; place < count; place++) {
      if (!readPosting(from, last)) return undefined;
      const at = place * NUMBERS;
      numbers[at] = last.revision;
      numbers[at + 1] = last.index;
      numbers[at + 2] = last.position;
      numbers[at + 3] = last.seconds;
      numbers[at + 4] = last.nanos;
      numbers[at + 5] = last.extra;
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
    return this.#numbers[place * NUMBERS + 3] ?? 0;
  }

  nanos(place: number): number {
    return this.#numbers[place * NUMBERS + 4] ?? 0;
  }

  entry(place: number): PostingEntry {
    const at = place * NUMBERS;
    const [seconds, nanos, extra] = [this.seconds(place), this.nanos(place), this.#numbers[at + 5] ?? 0];
    const zigzag = Math.floor(extra / 2);
    const lag = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    return {
      revision: this.#numbers[at] ?? 0,
      index: this.#numbers[at + 1] ?? 0,
      position: this.#numbers[at + 2] ?? 0,
      seconds,
      nanos,
      recordedTimeMs: effectiveMsOf(seconds, nanos) + lag,
      hasStoredId: extra % 2 === 1,
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
