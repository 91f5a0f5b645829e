/**
 * Reads histories in one thread: finds the blocks of a range, verifies them and joins their data.
 *
 * A block that is read while the writer replaces it may be torn, and a group may have got segments since its directory
 * was listed, or have been deleted and created again. So a read that finds a fault lists the files again and repeats a
 * few times before it reports damage.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { assert, caught, DatabaseError, type GroupId, messageOf, NO_BYTES, whenDone } from '#base';
import { HistoryFault, type HistoryRange, type HistoryReader, type ReadMemory } from '#kv';
import { isOutOfDescriptors, patiently, patientlyAwait } from '../basis/descriptors.ts';
import { BlockCache } from './block-cache.ts';
import type { ReadClock } from './read-times.ts';
import { isUnreadable, nodeSegmentDisk, type SegmentDisk } from './segment-disk.ts';
import { type Count, type SegmentFile, SegmentFiles } from './segment-files.ts';
import {
  BLOCK_BYTES,
  BLOCK_DATA_BYTES,
  blockAt,
  blockStart,
  damaged,
  missing,
  type SegmentFault,
  usedInBlock,
} from './segment-format.ts';

export interface SegmentReaderOptions {
  /** Default: the file system of this machine. */
  readonly disk?: SegmentDisk;
  readonly clock?: ReadClock;
  readonly pauses?: Pauses;
}

/** Ways to wait before a read is repeated: on this thread, and off it. */
export interface Pauses {
  readonly now: () => void;
  readonly later: () => Promise<void>;
}

/** Repeated reads of a range with a fault: the writer is done within microseconds, if it is running. */
const REPEATS = 3;
/** After these, with a pause before each: the writer's thread may have to wait for a processor. */
const PAUSED_REPEATS = 20;
const PAUSE_MS = 1;
const PAUSES: Pauses = {
  now: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  },
  later: () => delay(PAUSE_MS),
};

/** Reads off the thread at the same time: as many as there are threads for them. */
const LANES = 16;

const CLOCK: ReadClock = { nowMs: () => performance.now(), diskReads: () => process.resourceUsage().fsRead };

const COLD = missing('the disk has to be waited for');

interface Wanted {
  readonly group: GroupId;
  readonly range: HistoryRange;
  readonly memory: ReadMemory | undefined;
}

type Found = Uint8Array | SegmentFault;

/** The share of a range that one segment has. */
interface Part {
  readonly file: SegmentFile;
  readonly from: number;
  readonly to: number;
  /** Its first block, how many there are, and where they are put. */
  readonly block: number;
  readonly blocks: number;
  readonly at: number;
}

export class SegmentReader implements HistoryReader {
  readonly #files: SegmentFiles;
  readonly #cache = new BlockCache();
  readonly #pauses: Pauses;
  /** Last reads off the thread: each waits for the one before it, because each may need a descriptor more. */
  readonly #lanes: Promise<unknown>[] = [];
  #lane = 0;

  constructor(directory: string, options: SegmentReaderOptions = {}) {
    const { disk = nodeSegmentDisk, clock = CLOCK, pauses = PAUSES } = options;
    this.#files = new SegmentFiles({ directory, disk, clock });
    this.#pauses = pauses;
  }

  read(group: GroupId, range: HistoryRange, memory?: ReadMemory): Uint8Array {
    const bytes = this.#read('now', { group, range, memory });
    assert(bytes instanceof Uint8Array, 'A read on this thread is over when it returns');
    return bytes;
  }

  readAll(
    group: GroupId,
    ranges: readonly HistoryRange[],
    memory?: ReadMemory,
  ): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    const found = ranges.map((range) => this.#readAtOnce({ group, range, memory }));
    if (found.every((bytes) => bytes !== undefined)) return found;
    return allOf(ranges.map((range, index) => found[index] ?? this.#read('later', { group, range, memory })));
  }

  close(): void {
    this.#files.close();
  }

  /** Undefined when the disk, the writer or a descriptor has to be waited for. */
  #readAtOnce(wanted: Wanted): Uint8Array | undefined {
    try {
      const found = this.#try('at once', wanted);
      return found instanceof Uint8Array ? found : undefined;
    } catch (failure) {
      if (isOutOfDescriptors(failure)) return undefined;
      throw failure;
    }
  }

  /** Tries until the bytes are whole, on this thread or off it. */
  #read(when: 'now' | 'later', wanted: Wanted, repeat: number = 0): Uint8Array | Promise<Uint8Array> {
    const attempt = (): Found | Promise<Found> => this.#try(when, wanted);
    return whenDone(when === 'now' ? patiently(attempt) : patientlyAwait(() => this.#inLane(attempt)), (found) => {
      if (found instanceof Uint8Array) return found;
      const { group, range } = wanted;
      this.#files.forget(group);
      if (repeat === REPEATS + PAUSED_REPEATS) throw new HistoryFault(group, range, found);
      const pause = repeat < REPEATS ? undefined : this.#pauses[when]();
      return whenDone(pause, () => this.#read(when, wanted, repeat + 1));
    });
  }

  #inLane(attempt: () => Found | Promise<Found>): Promise<Found> {
    this.#lane = (this.#lane + 1) % LANES;
    const found = Promise.resolve(this.#lanes[this.#lane]).then(attempt);
    this.#lanes[this.#lane] = found.catch(() => undefined);
    return found;
  }

  /** `at once`: on this thread, but nothing for which it would wait. */
  #try(when: 'at once' | 'now' | 'later', wanted: Wanted): Found | Promise<Found> {
    const { group, memory } = wanted;
    const parts = this.#partsOf(wanted);
    if ('text' in parts) return parts;
    const cached = this.#cached(group, parts, memory);
    if (cached !== undefined) return cached;
    if (when === 'at once' && parts.some(({ file }) => file.isCold)) return COLD;
    const raw = memoryFor(parts, memory);
    const counts = orUnreadable(wanted, () => allOf(parts.map((part) => countIn(part, raw, when === 'later'))));
    return whenDone(counts, (all) => faultInCounts(parts, all) ?? this.#joined(group, parts, raw, memory));
  }

  /** The range, if all of its blocks are in the cache. */
  #cached(group: GroupId, parts: readonly Part[], memory?: ReadMemory): Uint8Array | undefined {
    const owner = memory?.owner;
    if (memory === undefined || owner === undefined || !isSmall(parts)) return undefined;
    const [{ file, block, blocks, from, to }] = parts;
    const bytes = memory.take(to - from);
    for (let start = blockStart(block, file.base), left = blocks; left > 0; start += BLOCK_DATA_BYTES, left--) {
      const data = this.#cache.find({ owner, group, start });
      if (data === undefined) return undefined;
      const skipped = Math.max(0, from - start);
      bytes.set(data.subarray(skipped, to - start), start + skipped - from);
    }
    return bytes;
  }

  #joined(group: GroupId, parts: readonly Part[], raw: Uint8Array, memory?: ReadMemory): Uint8Array | SegmentFault {
    const bytes = joinBlocks(parts, raw);
    const owner = memory?.owner;
    if (owner === undefined || !(bytes instanceof Uint8Array) || !isSmall(parts)) return bytes;
    const [{ file, block }] = parts;
    const end = bytes.byteOffset + bytes.length - raw.byteOffset;
    for (let at = 0; at + BLOCK_DATA_BYTES <= end; at += BLOCK_DATA_BYTES)
      this.#cache.keep(
        { owner, group, start: blockStart(block, file.base) + at },
        raw.subarray(at, at + BLOCK_DATA_BYTES),
      );
    return bytes;
  }

  #partsOf(wanted: Wanted): readonly Part[] | SegmentFault {
    const { group, range } = wanted;
    const { from, to } = range;
    assert(from >= 0 && from <= to, 'A range of a history does not end before it begins', [from, to]);
    if (from === to) return [];
    const files = this.#files.of(group) ?? orUnreadable(wanted, () => this.#files.lookFor(group));
    const first = lastAtOrBefore(files, from);
    const parts: Part[] = [];
    let at = 0;
    for (let index = first; index < files.length; index++) {
      const file = files[index];
      if (file === undefined) break;
      const begin = Math.max(from, file.base);
      const end = Math.min(to, files[index + 1]?.base ?? to);
      if (begin >= end) break;
      const block = blockAt(begin, file.base);
      const blocks = blockAt(end - 1, file.base) - block + 1;
      parts.push({ file: this.#files.use(file), from: begin, to: end, block, blocks, at });
      at += blocks * BLOCK_BYTES;
    }
    return parts.length === 0 ? missing(`it has no segment with position ${from}`) : parts;
  }
}

/** Index of the last segment that does not begin after the position; the number of segments if there is none. */
function lastAtOrBefore(files: readonly SegmentFile[], position: number): number {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((files[middle]?.base ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? files.length : low - 1;
}

/** Returns whether a read is small: one or two blocks, because an event may cross a border. Such blocks are shared. */
function isSmall(parts: readonly Part[]): parts is readonly [Part] {
  return parts.length === 1 && (parts[0]?.blocks ?? 0) <= 2;
}

function memoryFor(parts: readonly Part[], memory: ReadMemory | undefined): Uint8Array {
  const last = parts.at(-1);
  if (last === undefined) return NO_BYTES;
  const bytes = last.at + last.blocks * BLOCK_BYTES;
  return memory?.take(bytes) ?? new Uint8Array(bytes);
}

/** Reads the blocks of a part to their place; returns how many bytes there were. */
function countIn({ file, block, blocks, at }: Part, raw: Uint8Array, isLater: boolean): Count | Promise<Count> {
  return file.read(isLater, raw.subarray(at, at + blocks * BLOCK_BYTES), block * BLOCK_BYTES);
}

function faultInCounts(parts: readonly Part[], counts: readonly Count[]): SegmentFault | undefined {
  for (const [index, { file, block, blocks }] of parts.entries()) {
    const count = counts[index] ?? 0;
    if (typeof count !== 'number') return count;
    const whole = Math.floor(count / BLOCK_BYTES);
    if (whole !== blocks) return missing(`segment ${file.name} ends before block ${block + whole}`);
  }
  return undefined;
}

/** The data of these blocks, in place. */
function joinBlocks(parts: readonly Part[], raw: Uint8Array): Uint8Array | SegmentFault {
  let begin = 0;
  let end = 0;
  for (const [index, { file, from, to, block, blocks, at }] of parts.entries()) {
    for (let number = 0; number < blocks; number++) {
      const place = at + number * BLOCK_BYTES;
      const used = usedInBlock(raw, place);
      if (used === undefined)
        return damaged(`block ${block + number} of segment ${file.name} does not match its checksum`);
      const start = blockStart(block + number, file.base);
      const needed = Math.min(BLOCK_DATA_BYTES, to - start);
      // A segment ends where the next one begins.
      const isEnd = number === blocks - 1 && index < parts.length - 1;
      if (used < needed || (isEnd && used > needed))
        return missing(`segment ${file.name} has data up to ${start + used}`);
      const skipped = Math.max(0, from - start);
      if (place === 0) {
        begin = skipped;
        end = used;
      } else {
        raw.copyWithin(end, place + skipped, place + used);
        end += used - skipped;
      }
    }
  }
  return raw.subarray(begin, end);
}

/**
 * Does what `Promise.all` does, at once if no read is a promise. When it is rejected, no read still writes into its
 * memory, which others will use.
 */
function allOf<Value>(reads: readonly (Value | Promise<Value>)[]): readonly Value[] | Promise<readonly Value[]> {
  const isHere = (read: Value | Promise<Value>): read is Value => !(read instanceof Promise);
  return reads.every(isHere) ? reads : Promise.allSettled(reads).then(() => Promise.all(reads));
}

function orUnreadable<Value>(wanted: Wanted, work: () => Value): Value {
  return caught(work, (cause) => {
    throw unreadable(wanted, cause);
  });
}

/** A read that failed. Bytes that the disk has lost are damaged; any other failure says nothing about them. */
function unreadable({ group, range }: Wanted, cause: unknown): DatabaseError {
  const reason = messageOf(cause);
  if (isUnreadable(cause)) return new HistoryFault(group, range, damaged(reason));
  return new DatabaseError('internal', `The history of group ${group} could not be read: ${reason}`, { cause });
}
