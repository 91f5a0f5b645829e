/**
 * Histories as the one writer of a store adds to them: appends, syncs, cuts and copies segments.
 *
 * An append writes the last block again, with what it had before, and the blocks behind it. Writes are asynchronous and
 * go to different groups at once, but a group is in one call at a time. After a failed write or sync nothing is written
 * any more (W7).
 */
import { assert, type GroupId } from '#base';
import type { HistoryAppend, SegmentStart } from '#kv';
import { corruption, unwritten } from '../storage-failure.ts';
import { isMissing, nodeSegmentDisk, type SegmentDisk, type WritableSegment } from './segment-disk.ts';
import {
  BLOCK_BYTES,
  BLOCK_DATA_BYTES,
  blockAt,
  blockStart,
  groupName,
  sealBlock,
  segmentBases,
  segmentName,
  usedInBlock,
  writeHeader,
} from './segment-format.ts';
import { cutSegment } from './segment-cut.ts';

/** Groups whose last segment stays open, with a copy of its last block. */
const OPEN_FILES_MAX = 64;
/** Writes and syncs at the same time: LevelDB's writes use the same threads. */
const AT_ONCE = 4;

/** The end of a history, where records are added. */
interface Tail {
  readonly path: string;
  readonly base: number;
  readonly file: WritableSegment;
  end: number;
  /** Data of the last block, unless that is full. */
  partial: Uint8Array;
}

export class SegmentWriter {
  readonly #directory: string;
  readonly #disk: SegmentDisk;
  /** In the order of their last use. */
  readonly #tails = new Map<GroupId, Tail>();
  /** Written since their last sync. */
  #files = new Set<string>();
  #directories = new Set<string>();
  #syncing: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(directory: string, disk: SegmentDisk = nodeSegmentDisk) {
    this.#directory = directory;
    this.#disk = disk;
  }

  /** Adds records to these histories. None of the groups is in another call. */
  async append(appends: ReadonlyMap<GroupId, HistoryAppend>): Promise<void> {
    await this.#guarded(async () => {
      await inParallel([...appends], ([group, records]) => this.#append(group, records));
      for (const [group, tail] of this.#tails) {
        if (this.#tails.size <= OPEN_FILES_MAX) break;
        this.#tails.delete(group);
        await tail.file.close();
      }
    });
  }

  /** When the promise resolves, every append that had resolved before the call is on stable storage. */
  async sync(): Promise<void> {
    // A sync that has begun took what was written from the sets, and may not be done.
    const syncing = this.#syncing.then(() => this.#guarded(() => this.#sync()));
    this.#syncing = syncing.catch(() => undefined);
    await syncing;
  }

  /**
   * Removes what the history has from the position on, durably. Returns the position up to which checksums prove what
   * stays: less than `position` where a crash has torn the last block, or has lost bytes before the position.
   */
  async cut(group: GroupId, position: number): Promise<number> {
    return this.#guarded(async () => {
      await this.#close(group);
      const directory = this.#directoryOf(group);
      const bases = segmentBases(await this.#disk.listLater(directory));
      const kept = bases.filter((base) => base < position);
      for (const base of bases.slice(kept.length).toReversed()) await this.#remove(this.#pathOf(group, base));
      const last = kept.at(-1);
      if (last === undefined) {
        if (bases.length > 0) await this.#disk.removeDirectory(directory);
        if (bases.length > 0) await this.#disk.syncDirectory(this.#directory);
        return 0;
      }
      if (kept.length < bases.length) await this.#disk.syncDirectory(directory);
      return cutSegment(this.#disk, { path: this.#pathOf(group, last), base: last }, position);
    });
  }

  /** Makes the history of `to` that of `from`, durably. Sealed segments are shared where the file system can. */
  async copy(from: GroupId, to: GroupId): Promise<void> {
    await this.cut(to, 0);
    await this.#guarded(async () => {
      const bases = segmentBases(await this.#disk.listLater(this.#directoryOf(from)));
      if (bases.length === 0) return;
      await this.#makeDirectory(to);
      for (const base of bases) {
        const [source, target] = [this.#pathOf(from, base), this.#pathOf(to, base)];
        const isShared = base !== bases.at(-1) && (await this.#disk.link(source, target));
        if (!isShared) await this.#disk.copy(source, target);
        this.#files.add(target);
      }
    });
    await this.sync();
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
    await this.#syncing;
    for (const { file } of this.#tails.values()) await file.close();
    this.#tails.clear();
  }

  async #append(group: GroupId, { position, bytes, segments }: HistoryAppend): Promise<void> {
    const tail = await this.#tailOf(group, position);
    const [first = { position: position + bytes.length }] = segments;
    if (tail !== undefined) await this.#extend(tail, bytes.subarray(0, first.position - position));
    else assert(first.position === position, 'The first record of a history begins a segment', position);
    for (const [index, start] of segments.entries()) {
      const end = segments[index + 1]?.position ?? position + bytes.length;
      await this.#begin(group, start, bytes.subarray(start.position - position, end - position));
    }
  }

  /** The end of the history, which must be at the position; undefined when there is none yet. */
  async #tailOf(group: GroupId, position: number): Promise<Tail | undefined> {
    const known = this.#tails.get(group);
    const tail = known ?? (position === 0 ? undefined : await this.#openTail(group, position));
    assert(position === (tail?.end ?? 0), 'Records are added at the end of a history', [position, tail?.end]);
    this.#tails.delete(group);
    if (tail !== undefined) this.#tails.set(group, tail);
    return tail;
  }

  async #openTail(group: GroupId, position: number): Promise<Tail> {
    const base = segmentBases(await this.#disk.listLater(this.#directoryOf(group))).at(-1) ?? 0;
    const path = this.#pathOf(group, base);
    const file = await this.#disk.openToWrite(path, 'existing');
    const block = blockAt(position - 1, base);
    const used = position - blockStart(block, base);
    const bytes = new Uint8Array(2 * BLOCK_BYTES);
    const count = await file.read(bytes, block * BLOCK_BYTES);
    if (count !== BLOCK_BYTES || usedInBlock(bytes, 0) !== used) {
      await file.close();
      throw corruption(path, block * BLOCK_BYTES, `another end of the history than position ${position}`);
    }
    return { path, base, file, end: position, partial: bytes.slice(0, used % BLOCK_DATA_BYTES) };
  }

  async #extend(tail: Tail, more: Uint8Array): Promise<void> {
    if (more.length === 0) return;
    const { partial, base, file, path, end } = tail;
    const blocks = Math.ceil((partial.length + more.length) / BLOCK_DATA_BYTES);
    const bytes = Buffer.allocUnsafeSlow(blocks * BLOCK_BYTES);
    bytes.set(partial);
    tail.partial = fillBlocks(bytes, 0, partial.length, more);
    tail.end += more.length;
    await orUnwritten(path, file.write(bytes, blockAt(end, base) * BLOCK_BYTES));
    this.#files.add(path);
  }

  async #begin(group: GroupId, start: SegmentStart, records: Uint8Array): Promise<void> {
    await this.#close(group);
    if (start.position === 0) await this.#makeDirectory(group);
    const path = this.#pathOf(group, start.position);
    const file = await this.#disk.openToWrite(path, 'create');
    const bytes = Buffer.allocUnsafeSlow((1 + Math.ceil(records.length / BLOCK_DATA_BYTES)) * BLOCK_BYTES);
    writeHeader(bytes, start);
    const partial = fillBlocks(bytes, BLOCK_BYTES, 0, records);
    const end = start.position + records.length;
    this.#tails.set(group, { path, base: start.position, file, end, partial });
    await orUnwritten(path, file.write(bytes, 0));
    this.#directories.add(this.#directoryOf(group));
    this.#files.add(path);
  }

  async #makeDirectory(group: GroupId): Promise<void> {
    await this.#disk.makeDirectory(this.#directory);
    await this.#disk.makeDirectory(this.#directoryOf(group));
    for (const each of [parentOf(this.#directory), this.#directory, this.#directoryOf(group)]) this.#directories.add(each);
  }

  async #sync(): Promise<void> {
    const [files, directories] = [this.#files, this.#directories];
    this.#files = new Set();
    this.#directories = new Set();
    await inParallel([...files], (path) => orUnwritten(path, unlessRemoved(this.#disk.syncFile(path))));
    await inParallel([...directories], (path) => orUnwritten(path, unlessRemoved(this.#disk.syncDirectory(path))));
  }

  async #remove(path: string): Promise<void> {
    this.#files.delete(path);
    // A reader that has the file open finds it empty and looks for it again. Another history may share the file.
    if ((await this.#disk.stat(path)).nlink === 1) {
      const file = await this.#disk.openToWrite(path, 'existing');
      await file.truncate(0).finally(() => file.close());
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
      const isOfDisk = cause instanceof Error && 'syscall' in cause;
      this.#failure ??= isOfDisk ? unwritten(this.#directory, cause) : cause;
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

/** Puts records into the blocks from offset `at` on, of which `used` bytes of data are there; returns the last data. */
function fillBlocks(bytes: Uint8Array, at: number, used: number, records: Uint8Array): Uint8Array {
  let taken = 0;
  let filled = used;
  for (let place = at; ; place += BLOCK_BYTES) {
    const more = records.subarray(taken, taken + BLOCK_DATA_BYTES - filled);
    bytes.set(more, place + filled);
    taken += more.length;
    filled += more.length;
    sealBlock(bytes, place, filled);
    if (taken === records.length) return new Uint8Array(bytes.subarray(place, place + (filled % BLOCK_DATA_BYTES)));
    filled = 0;
  }
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}

async function orUnwritten(path: string, work: Promise<void>): Promise<void> {
  await work.catch((cause: unknown) => {
    throw unwritten(path, cause);
  });
}

async function unlessRemoved(sync: Promise<void>): Promise<void> {
  await sync.catch((failure: unknown) => {
    if (!isMissing(failure)) throw failure;
  });
}

function parentOf(directory: string): string {
  return directory.slice(0, Math.max(0, directory.lastIndexOf('/')));
}
