/**
 * Histories as the one writer of a store adds to them: appends, syncs, cuts and copies segments.
 *
 * An append writes the last block again, with what it had before, and the blocks after it. Writes are asynchronous and
 * go to different groups at once, but a group is in one call at a time. After a failed write or sync nothing is written
 * any more (W7).
 */
import { assert, type GroupId, ignoring, inParallel, NO_BYTES } from '#base';
import { type HistoryAppend, type HistoryEnd, NO_HISTORY, type SegmentStart } from '#kv';
import { openSegmentsMax } from '../basis/descriptors.ts';
import { checksum } from '../basis/little-endian.ts';
import { corruption, orUnwrittenLater, unwritten } from '../basis/storage-failure.ts';
import { cutHistory } from './segment-cut.ts';
import { isMissing, nodeSegmentDisk, type SegmentDisk, type WritableSegment } from './segment-disk.ts';
import {
  BLOCK_BYTES,
  BLOCK_DATA_BYTES,
  blockAt,
  blockStart,
  fillBlocks,
  groupName,
  segmentBases,
  segmentName,
  usedInBlock,
  writeHeader,
} from './segment-format.ts';
import { damageOf, type EndedSegment, sealSegment } from './segment-seal.ts';

/** Groups whose last segment stays open, with a copy of its last block. */
const OPEN_FILES_MAX = openSegmentsMax();
/** Writes and syncs at the same time: LevelDB's writes use the same threads. */
const AT_ONCE = 4;

/** The end of a history, where records are added. */
interface Tail {
  readonly path: string;
  readonly base: number;
  readonly file: WritableSegment;
  readonly end: number;
  /** Data of the last block, also when it is full. */
  readonly partial: Uint8Array;
}

export class SegmentWriter {
  readonly #directory: string;
  readonly #disk: SegmentDisk;
  /** In the order of their last use. */
  readonly #tails = new Map<GroupId, Tail>();
  /** Ends of all histories that were written or cut. */
  readonly #ends = new Map<GroupId, HistoryEnd>();
  /** Written since their last sync. */
  #files = new Set<string>();
  #directories = new Set<string>();
  /** Segments that have no footer yet. */
  #unsealed = new Map<GroupId, readonly EndedSegment[]>();
  #failure: Error | undefined;

  constructor(directory: string, disk: SegmentDisk = nodeSegmentDisk) {
    this.#directory = directory;
    this.#disk = disk;
  }

  /** Adds records to these histories. None of the groups is in another call. */
  async append(appends: ReadonlyMap<GroupId, HistoryAppend>): Promise<void> {
    await this.#guarded(async () => {
      await inParallel(AT_ONCE, [...appends], ([group, records]) => this.#append(group, records));
      for (const [group, tail] of this.#tails) {
        if (this.#tails.size <= OPEN_FILES_MAX) break;
        this.#tails.delete(group);
        await tail.file.close();
      }
    });
  }

  /**
   * When the promise resolves, every append that had resolved before the call is on stable storage. No cut runs
   * meanwhile, and no other sync.
   */
  async sync(): Promise<void> {
    return this.#guarded(() => this.#sync());
  }

  /** See `KvStore.historyEnd`. */
  end(group: GroupId): HistoryEnd {
    return this.#ends.get(group) ?? NO_HISTORY;
  }

  /** Removes what follows the position, durably; what was not synced before it is left to the next sync. */
  cut(group: GroupId, position: number, synced: HistoryEnd): Promise<number> {
    return this.#guarded(async () => {
      await this.#close(group);
      const directory = this.#directoryOf(group);
      const remove = (path: string): Promise<void> => this.#remove(path);
      const ports = { disk: this.#disk, directory, parent: this.#directory, remove };
      const { end, partial, files, unsealed } = await cutHistory(ports, position, synced);
      this.#unsealed.set(group, unsealed);
      if (files.length > 0) this.#noteDirectories(group);
      for (const path of files) this.#files.add(path);
      if (end === 0) this.#ends.delete(group);
      else this.#ends.set(group, partial === undefined ? synced : endOf({ end, partial }));
      return end;
    });
  }

  /** Makes the history of `to`, which has none, that of `from`. Sealed segments are shared where hard links exist. */
  async copy(from: GroupId, to: GroupId): Promise<void> {
    await this.#guarded(async () => {
      const bases = segmentBases(await this.#disk.listLater(this.#directoryOf(from)));
      if (bases.length === 0) return;
      await this.#seal(from, this.#unsealed.get(from) ?? []);
      await this.#makeDirectory(to);
      for (const base of bases) {
        const [source, target] = [this.#pathOf(from, base), this.#pathOf(to, base)];
        const isShared = base !== bases.at(-1) && (await this.#disk.link(source, target));
        if (!isShared) await this.#disk.copy(source, target);
        this.#files.add(target);
      }
      const { file, ...tail } = await this.#openTail(to);
      await file.close();
      this.#ends.set(to, endOf(tail));
    });
  }

  /** Bytes of the files of a history. */
  async size(group: GroupId): Promise<number> {
    const directory = this.#directoryOf(group);
    let bytes = 0;
    for (const name of await this.#disk.listLater(directory)) {
      const { size } = await this.#disk.stat(`${directory}/${name}`).catch((failure: unknown) => {
        // The history may be cut meanwhile.
        if (isMissing(failure)) return { size: 0 };
        throw failure;
      });
      bytes += size;
    }
    return bytes;
  }

  /** Every other call has ended. */
  async close(): Promise<void> {
    for (const { file } of this.#tails.values()) await file.close();
    this.#tails.clear();
  }

  async #append(group: GroupId, { position, bytes, segments }: HistoryAppend): Promise<void> {
    const tail = await this.#tailOf(group, position);
    const [first = { position: position + bytes.length }] = segments;
    if (tail !== undefined) await this.#extend(group, tail, bytes.subarray(0, first.position - position));
    else assert(first.position === position, 'The first record of a history begins a segment', position);
    let base = tail?.base;
    for (const [index, start] of segments.entries()) {
      const end = segments[index + 1]?.position ?? position + bytes.length;
      await this.#begin(group, start, bytes.subarray(start.position - position, end - position), base);
      base = start.position;
    }
  }

  /** The end of the history, which must be at the position; undefined when there is none yet. */
  async #tailOf(group: GroupId, position: number): Promise<Tail | undefined> {
    if (position > 0 && !this.#tails.has(group)) this.#tails.set(group, await this.#openTail(group));
    const tail = this.#tails.get(group);
    assert(position === (tail?.end ?? 0), 'Records are added at the end of a history', [position, tail?.end]);
    return tail;
  }

  async #openTail(group: GroupId): Promise<Tail> {
    const base = segmentBases(await this.#disk.listLater(this.#directoryOf(group))).at(-1) ?? 0;
    const path = this.#pathOf(group, base);
    const { size } = await this.#disk.stat(path);
    const block = Math.max(1, Math.floor(size / BLOCK_BYTES) - 1);
    const bytes = new Uint8Array(BLOCK_BYTES);
    const file = await this.#disk.openToWrite(path, 'existing');
    const count = await file.read(bytes, block * BLOCK_BYTES);
    const used = usedInBlock(bytes, 0);
    if (count === BLOCK_BYTES && used !== undefined && size % BLOCK_BYTES === 0) {
      return { path, base, file, end: blockStart(block, base) + used, partial: bytes.subarray(0, used) };
    }
    await file.close();
    throw corruption(path, block * BLOCK_BYTES, 'a last block that does not match its checksum');
  }

  async #extend(group: GroupId, tail: Tail, more: Uint8Array): Promise<void> {
    if (more.length === 0) return;
    const { partial, base, file, path, end } = tail;
    // A full block is not written again.
    const kept = partial.length === BLOCK_DATA_BYTES ? NO_BYTES : partial;
    const bytes = Buffer.allocUnsafeSlow(Math.ceil((kept.length + more.length) / BLOCK_DATA_BYTES) * BLOCK_BYTES);
    bytes.set(kept);
    const filled = fillBlocks(bytes, kept.length, more);
    await orUnwrittenLater(path, file.write(bytes, blockAt(end, base) * BLOCK_BYTES));
    this.#note(group, { ...tail, end: end + more.length, partial: filled });
  }

  /** `base` is the start of the segment before. */
  async #begin(group: GroupId, start: SegmentStart, records: Uint8Array, base?: number): Promise<void> {
    await this.#close(group);
    if (start.position === 0) await this.#makeDirectory(group);
    const path = this.#pathOf(group, start.position);
    const file = await this.#disk.openToWrite(path, 'create');
    const bytes = Buffer.allocUnsafeSlow((1 + Math.ceil(records.length / BLOCK_DATA_BYTES)) * BLOCK_BYTES);
    writeHeader(bytes, start);
    const partial = fillBlocks(bytes.subarray(BLOCK_BYTES), 0, records);
    await orUnwrittenLater(path, file.write(bytes, 0));
    this.#directories.add(this.#directoryOf(group));
    if (base !== undefined) {
      this.#unsealed.set(group, [...(this.#unsealed.get(group) ?? []), { base, next: start.position }]);
    }
    this.#note(group, { path, base: start.position, file, end: start.position + records.length, partial });
  }

  /** The records are in the file, to be synced. */
  #note(group: GroupId, tail: Tail): void {
    this.#tails.delete(group);
    this.#tails.set(group, tail);
    this.#files.add(tail.path);
    this.#ends.set(group, endOf(tail));
  }

  async #makeDirectory(group: GroupId): Promise<void> {
    await this.#disk.makeDirectory(this.#directory);
    await this.#disk.makeDirectory(this.#directoryOf(group));
    this.#noteDirectories(group);
  }

  #noteDirectories(group: GroupId): void {
    for (const each of [parentOf(this.#directory), this.#directory, this.#directoryOf(group)])
      this.#directories.add(each);
  }

  async #sync(): Promise<void> {
    const [files, directories, unsealed] = [this.#files, this.#directories, this.#unsealed];
    this.#files = new Set();
    this.#directories = new Set();
    this.#unsealed = new Map();
    await inParallel(AT_ONCE, [...unsealed], ([group, segments]) => this.#seal(group, segments));
    const orRemoved = ignoring(isMissing);
    await inParallel(AT_ONCE, [...files], (path) => orUnwrittenLater(path, this.#disk.syncFile(path).catch(orRemoved)));
    await inParallel(AT_ONCE, [...directories], (path) =>
      orUnwrittenLater(path, this.#disk.syncDirectory(path).catch(orRemoved)),
    );
  }

  async #seal(group: GroupId, segments: readonly EndedSegment[]): Promise<void> {
    for (const segment of segments) {
      const fault = await sealSegment(this.#disk, this.#directoryOf(group), segment);
      if (fault !== undefined) throw damageOf(group, segment, fault);
    }
  }

  async #remove(path: string): Promise<void> {
    this.#files.delete(path);
    // A reader that has the file open finds it empty and looks for it again. Another history may share the file.
    if ((await this.#disk.stat(path)).nlink === 1) {
      await using file = await this.#disk.openToWrite(path, 'existing');
      await file.truncate(0);
    }
    await this.#disk.remove(path);
  }

  async #close(group: GroupId): Promise<void> {
    const tail = this.#tails.get(group);
    this.#tails.delete(group);
    await tail?.file.close();
  }

  async #guarded<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return await work();
    } catch (cause) {
      const failure = cause instanceof Error ? cause : new Error(String(cause));
      this.#failure ??= 'syscall' in failure ? unwritten(this.#directory, failure) : failure;
      throw this.#failure;
    }
  }

  #directoryOf(group: GroupId): string {
    return `${this.#directory}/${groupName(group)}`;
  }

  #pathOf(group: GroupId, base: number): string {
    return `${this.#directoryOf(group)}/${segmentName(base)}`;
  }
}

function endOf({ end, partial }: Pick<Tail, 'end' | 'partial'>): HistoryEnd {
  return { end, crc: checksum(partial, 0, partial.length) };
}

function parentOf(directory: string): string {
  return directory.slice(0, Math.max(0, directory.lastIndexOf('/')));
}
