/**
 * The level of the disk by its free space, and the operations that it allows: a decision over numbers, without a disk.
 *
 *   open              everything is allowed
 *   refusing-writes   below the soft level: writes of clients are refused; deletes and checkpoints continue, so that
 *                     space can be freed
 *   read-only         below the hard level: nothing is appended, reads continue
 *
 *   W15  Clients write only while free space is above the soft level.
 *   W16  The level improves only with an eighth of hysteresis, so that it does not flap.
 */

export type DiskLevel = 'open' | 'refusing-writes' | 'read-only';

export interface DiskSpace {
  /** Bytes that this process can still allocate. */
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

export interface DiskThresholds {
  /** Below this much available space users write nothing. */
  readonly softBytes: number;
  /** Below this all appends stop. Less than `softBytes`. */
  readonly hardBytes: number;
}

const GIBIBYTE = 1024 * 1024 * 1024;

/** Bytes that fill the disk besides those of clients. */
export interface DiskNeeds {
  /** Size of one segment of the log. */
  readonly segmentBytes: number;
  /** Bytes that one compaction of the store takes before it deletes the replaced files. */
  readonly compactionBytes: number;
}

/** The hard threshold when none is set. */
export function defaultHardBytes(segmentBytes: number): number {
  return 2 * segmentBytes;
}

/**
 * Fills in the thresholds that are not set. The hard threshold is two segments of the log, so that the log has space
 * for each new segment. The soft threshold is the hard one plus the largest of these: a compaction, the hard threshold,
 * 1 % of the disk but at most 1 GiB.
 *
 * A compaction may begin after the last accepted write. If it runs out of space, the store is broken until the next
 * start. Compactions after a deletion need this space, too: only they free the space of the deleted database.
 */
export function defaultThresholds(
  capacityBytes: number,
  needs: DiskNeeds,
  given: Partial<DiskThresholds> = {},
): DiskThresholds {
  const onePercent = Math.floor(capacityBytes / 100);
  const hardBytes = given.hardBytes ?? defaultHardBytes(needs.segmentBytes);
  const softBytes =
    given.softBytes ?? hardBytes + Math.max(hardBytes, needs.compactionBytes, Math.min(onePercent, GIBIBYTE));
  return { softBytes, hardBytes };
}

/** The log always has the segment that is written, and two that are kept ready. */
const LOG_SEGMENTS_MIN = 3;

/** The smallest disk on which users can write, with nothing on it but an empty log. */
export function capacityNeeded(needs: DiskNeeds, given: Partial<DiskThresholds> = {}): number {
  // The thresholds grow with the disk, and by less than it does.
  let capacityBytes = 0;
  for (;;) {
    const { softBytes } = defaultThresholds(capacityBytes, needs, given);
    const neededBytes = Math.ceil(softBytes + LOG_SEGMENTS_MIN * needs.segmentBytes);
    if (neededBytes <= capacityBytes) return capacityBytes;
    capacityBytes = neededBytes;
  }
}

/** The level of the disk now, by the level before. */
export function decideDisk(
  availableBytes: number,
  { softBytes, hardBytes }: DiskThresholds,
  before: DiskLevel,
): DiskLevel {
  if (availableBytes < withSpare(hardBytes, before === 'read-only')) return 'read-only';
  return availableBytes < withSpare(softBytes, before !== 'open') ? 'refusing-writes' : 'open';
}

/** A threshold, with an eighth on top when it is to be risen above again (W16). */
function withSpare(bytes: number, isBelow: boolean): number {
  return isBelow ? bytes + bytes / 8 : bytes;
}
