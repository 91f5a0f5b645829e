// The histories of a simulated store: the production code for segments on a simulated disk.
import type { HistoryReader } from '#kv';
import { SegmentReader } from '../../src/storage/segments/segment-reader.ts';
import { SegmentWriter } from '../../src/storage/segments/segment-writer.ts';
import { MemorySegmentDisk, type SegmentSurvival } from './memory-segment-disk.ts';

export const HISTORIES = 'store/histories';
export const NO_PAUSES = { now: (): void => undefined, later: async (): Promise<void> => undefined };

export class SegmentHistories {
  readonly disk: MemorySegmentDisk;
  /** Those of the process that runs. */
  readonly writer: SegmentWriter;
  readonly history: HistoryReader;

  constructor(disk: MemorySegmentDisk = new MemorySegmentDisk()) {
    this.disk = disk;
    this.writer = new SegmentWriter(HISTORIES, disk);
    // Everything is in memory, so no read is slow, and no writer runs while a read waits.
    this.history = new SegmentReader(HISTORIES, { disk, nowMs: () => 0, pauses: NO_PAUSES });
  }

  afterPowerLoss(survival: SegmentSurvival): SegmentHistories {
    return new SegmentHistories(this.disk.afterPowerLoss(survival));
  }
}
