// Histories on a simulated disk, with their rows in memory: the production code, without a store around it.
import type { GroupId } from '#base';
import type { HistoryReader, SegmentStart } from '#kv';
import { Histories, type HistoriesOptions, type TailRows } from '../../src/storage/segments/histories.ts';
import type { ReadClock } from '../../src/storage/segments/read-times.ts';
import { verifySegment } from '../../src/storage/segments/segment-seal.ts';
import { MemorySegmentDisk, type SegmentSurvival } from './memory-segment-disk.ts';

export const HISTORIES = 'store/histories';
/** A clock that never shows a slow read. */
export const STILL: ReadClock = { nowMs: () => 0, diskReads: () => 0 };
export const NO_PAUSES = { now: (): void => undefined, later: async (): Promise<void> => undefined };

/** Options of histories of a simulated store: no read is slow, and no writer runs while a read waits. */
export function simulated(disk: MemorySegmentDisk, rows: TailRows): HistoriesOptions {
  return { directory: HISTORIES, disk, rows, clock: STILL, pauses: NO_PAUSES };
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

type Rows = Map<string, Uint8Array>;

export class SegmentHistories {
  readonly disk: MemorySegmentDisk;
  readonly histories: Histories;
  readonly #rows: Rows;
  #durableRows: Rows;

  constructor(disk: MemorySegmentDisk = new MemorySegmentDisk(), rows: Rows = new Map()) {
    this.disk = disk;
    this.#rows = rows;
    this.#durableRows = new Map(rows);
    const write: TailRows['write'] = async (changes, { sync }) => {
      for (const [key, value] of changes) {
        for (const each of sync ? [this.#rows, this.#durableRows] : [this.#rows]) {
          if (value === undefined) each.delete(key.toString());
          else each.set(key.toString(), value);
        }
      }
    };
    this.histories = new Histories(simulated(disk, { get: (key) => this.#rows.get(key.toString()), write }));
  }

  get history(): HistoryReader {
    return this.histories.reader;
  }

  /** As a checkpoint of the store. */
  async sync(): Promise<void> {
    await this.histories.sync();
    this.#durableRows = new Map(this.#rows);
  }

  cut(group: GroupId, position: number): Promise<number> {
    return this.histories.cut(group, position);
  }

  /** The same for the next process on the same machine. */
  restarted(): SegmentHistories {
    const next = new SegmentHistories(this.disk, new Map(this.#rows));
    next.#durableRows = this.#durableRows;
    return next;
  }

  /** The rows of an unfinished checkpoint survive or not. */
  afterPowerLoss(survival: SegmentSurvival): SegmentHistories {
    const rows = survival.name('rows') ? this.#rows : this.#durableRows;
    return new SegmentHistories(this.disk.afterPowerLoss(survival), new Map(rows));
  }
}
