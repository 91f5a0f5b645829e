// Histories on a simulated disk, with the ends of the last checkpoint: the production code, without store and log.
import type { GroupId } from '#base';
import { type HistoryAppend, type HistoryEnd, type HistoryReader, NO_HISTORY, type SegmentStart } from '#kv';
import { Histories, type HistoriesOptions } from '../../src/storage/segments/histories.ts';
import type { ReadClock } from '../../src/storage/segments/read-times.ts';
import { verifySegment } from '../../src/storage/segments/segment-seal.ts';
import { MemorySegmentDisk, type SegmentSurvival } from './memory-segment-disk.ts';

export const HISTORIES = 'store/histories';
/** A clock that never shows a slow read. */
export const STILL: ReadClock = { nowMs: () => 0, diskReads: () => 0 };
export const NO_PAUSES = { now: (): void => undefined, later: async (): Promise<void> => undefined };

/** Options of histories of a simulated store: no read is slow, and no writer runs while a read waits. */
export function simulated(disk: MemorySegmentDisk): HistoriesOptions {
  return { directory: HISTORIES, disk, clock: STILL, pauses: NO_PAUSES };
}

/** Verifies a sealed segment: the start of the next one, or its fault as text. */
export function verified(
  disk: MemorySegmentDisk,
  path: string,
  segment: Parameters<typeof verifySegment>[1],
): SegmentStart | string {
  using file = disk.open(path);
  if (file === undefined) return 'there is no file';
  const slices = verifySegment(file, segment);
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  return slice.value;
}

type Ends = ReadonlyMap<GroupId, HistoryEnd>;

export class SegmentHistories {
  readonly disk: MemorySegmentDisk;
  readonly histories: Histories;
  /** Ends of the last checkpoint, as the write-ahead log has them. */
  #synced: Ends;
  readonly #groups: Set<GroupId>;

  constructor(disk: MemorySegmentDisk = new MemorySegmentDisk(), synced: Ends = new Map()) {
    this.disk = disk;
    this.#synced = synced;
    this.#groups = new Set(synced.keys());
    this.histories = new Histories(simulated(disk));
  }

  get history(): HistoryReader {
    return this.histories.reader;
  }

  async append(appends: ReadonlyMap<GroupId, HistoryAppend>): Promise<void> {
    for (const group of appends.keys()) this.#groups.add(group);
    await this.histories.append(appends);
  }

  /** As a checkpoint of the store. */
  async sync(): Promise<void> {
    const ends = new Map([...this.#groups].map((group) => [group, this.histories.end(group)] as const));
    await this.histories.sync();
    this.#synced = ends;
  }

  cut(group: GroupId, position: number): Promise<number> {
    return this.histories.cut(group, position, this.#synced.get(group) ?? NO_HISTORY);
  }

  /** The same for the next process on the same machine. */
  restarted(): SegmentHistories {
    return new SegmentHistories(this.disk, this.#synced);
  }

  afterPowerLoss(survival: SegmentSurvival): SegmentHistories {
    return new SegmentHistories(this.disk.afterPowerLoss(survival), this.#synced);
  }
}
