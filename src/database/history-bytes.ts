/**
 * The bytes of one history, for one reader.
 *
 * The length of an event or a record is unknown before its first bytes are read. So a read requests a guessed length,
 * and reads again the few that are longer.
 */
import { type GroupId, NO_BYTES, whenDone } from '#base';
import { type HistoryRange, type HistoryReader, type KvReader, ReadMemory } from '#kv';

/** Bytes of the first read at a place. */
const GUESS_BYTES = 512;
/** Places that are closer are read as one range: so many bytes cost less than another read. */
const GAP_BYTES = 4096;

/** Something in the history, of which at least `least` bytes follow its position. */
export interface Wanted<Found> {
  readonly position: number;
  readonly least: number;
  /** Returns the value that the bytes begin with, or the number of bytes that it needs. */
  readonly read: (bytes: Uint8Array, position: number) => Found | number;
}

interface HistoryBytesOptions {
  readonly kv: KvReader;
  readonly group: GroupId;
  readonly owner?: object | undefined;
  /** True: bytes that were read are valid until `release`. */
  readonly lends: boolean;
}

export class HistoryBytes {
  readonly #history: HistoryReader;
  readonly #group: GroupId;
  /** Absent where what was read stays valid. */
  readonly #memory: ReadMemory | undefined;
  #end = 0;
  /** The bytes read last, and their position: what follows is often among them. */
  #last: Uint8Array = NO_BYTES;
  #lastAt = 0;

  constructor({ kv, group, owner, lends }: HistoryBytesOptions) {
    this.#history = kv.history;
    this.#group = group;
    this.#memory = lends ? new ReadMemory(owner) : undefined;
  }

  /** The history is known to reach to here: it may be longer. */
  get end(): number {
    return this.#end;
  }

  /** Notes that the history reaches at least to the position. */
  noteEnd(position: number): void {
    this.#end = Math.max(this.#end, position);
  }

  /** Nothing that was read is used any more. */
  release(): void {
    if (this.#memory === undefined) return;
    this.#memory.reset();
    this.#last = NO_BYTES;
  }

  /** Reads on this thread. */
  find<Found extends object>({ position, least, read }: Wanted<Found>): Found {
    for (let needed = least; ; ) {
      const found = read(this.at(position, needed), position);
      if (typeof found !== 'number') return found;
      needed = found;
    }
  }

  /** Reads all at once, and returns what was found in the order of `wanted`: a promise where that takes the disk. */
  findAll<Found extends object | undefined>(
    wanted: readonly Wanted<Found>[],
  ): readonly Found[] | Promise<readonly Found[]> {
    const places = inOrder(wanted);
    this.noteEnd(positionIn(wanted, places.at(-1) ?? 0));
    const found: Found[] = [];
    return whenDone(this.#findInto(found, wanted, places), () => found);
  }

  /** The bytes from `position` on, `least` of them or more: on this thread. */
  at(position: number, least: number): Uint8Array {
    const skip = position - this.#lastAt;
    if (skip < 0 || skip + least > this.#last.length) {
      this.#last = this.#history.read(this.#group, this.#rangeOf({ position, least }), this.#memory);
      this.#lastAt = position;
      return this.#last;
    }
    return this.#last.subarray(skip);
  }

  /** The bytes of the range, and those that come along. */
  range(range: HistoryRange): Uint8Array | Promise<Uint8Array> {
    return whenDone(this.#history.readAll(this.#group, [range], this.#memory), ([first = NO_BYTES]) => first);
  }

  /** `places` are those of `wanted` that are left, in order of position. */
  #findInto<Found extends object | undefined>(
    found: Found[],
    wanted: readonly Wanted<Found>[],
    places: readonly number[],
  ): void | Promise<void> {
    const ranges = this.#rangesOf(wanted, places);
    return whenDone(this.#history.readAll(this.#group, ranges, this.#memory), (all) => {
      const again: Wanted<Found>[] = [];
      const left: number[] = [];
      let at = 0;
      for (const place of places) {
        const each = wanted[place];
        if (each === undefined) continue;
        while (each.position >= (ranges[at]?.to ?? Number.POSITIVE_INFINITY)) at++;
        const bytes = (all[at] ?? NO_BYTES).subarray(each.position - (ranges[at]?.from ?? 0));
        const one = each.read(bytes, each.position);
        if (typeof one !== 'number') {
          found[place] = one;
          continue;
        }
        again[place] = { ...each, least: one };
        left.push(place);
      }
      return left.length > 0 ? this.#findInto(found, again, left) : undefined;
    });
  }

  /** The ranges to read, in order, neighbours joined. */
  #rangesOf(wanted: readonly Wanted<unknown>[], places: readonly number[]): readonly HistoryRange[] {
    const ranges: { from: number; to: number }[] = [];
    let last: { from: number; to: number } | undefined;
    for (const place of places) {
      const each = wanted[place];
      if (each === undefined) continue;
      const { from, to } = this.#rangeOf(each);
      if (last !== undefined && from - last.to < GAP_BYTES) last.to = Math.max(last.to, to);
      else ranges.push((last = { from, to }));
    }
    return ranges;
  }

  #rangeOf({ position, least }: Pick<Wanted<unknown>, 'position' | 'least'>): HistoryRange {
    return { from: position, to: Math.max(position + least, Math.min(position + GUESS_BYTES, this.#end)) };
  }
}

/** The places of `wanted` in order of position, as they mostly are. */
function inOrder(wanted: readonly Wanted<unknown>[]): readonly number[] {
  const places: number[] = [];
  let isSorted = true;
  for (let place = 0; place < wanted.length; place++) {
    isSorted &&= place === 0 || positionIn(wanted, place - 1) <= positionIn(wanted, place);
    places.push(place);
  }
  return isSorted ? places : places.toSorted((a, b) => positionIn(wanted, a) - positionIn(wanted, b));
}

function positionIn(wanted: readonly Wanted<unknown>[], place: number): number {
  return wanted[place]?.position ?? 0;
}
