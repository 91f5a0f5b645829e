/**
 * How full the disk is, and what follows from it: a decision over numbers, without a disk.
 *
 *   open              everything goes
 *   refusing-writes   below the soft level: what users write is refused, deletes and checkpoints go on, so that space
 *                     can come back
 *   read-only         below the hard level with nothing left to release: nothing is appended, reads go on
 *
 * The ballast is a file that holds space for the day on which there is none. It is released when the hard level is
 * reached, which lets the node delete, compact and checkpoint; while it is gone users write nothing, or they would fill
 * the very space that was released. It is made again, and users write again, when there is room for it above the soft
 * level.
 *
 *   W15  Users write only while the soft level is kept and the ballast is there, or room for it above the soft level.
 *   W16  A level is left for a better one only with an eighth to spare, so that it does not flap.
 */

export type DiskLevel = 'open' | 'refusing-writes' | 'read-only';

export interface DiskSpace {
  /** What this process can still allocate. */
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

export interface DiskThresholds {
  /** Below this much available space users write nothing. */
  readonly softBytes: number;
  /** Below this the ballast goes, and without one all appends stop. Less than `softBytes`. */
  readonly hardBytes: number;
  /** Size of the ballast; 0 for none. */
  readonly ballastBytes: number;
}

export interface DiskState {
  readonly level: DiskLevel;
  /** Bytes that the ballast holds, however far it has been made. */
  readonly ballastHeldBytes: number;
}

export interface DiskDecision {
  readonly level: DiskLevel;
  readonly ballast: 'keep' | 'make' | 'release';
}

const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;

/** What fills the disk beside what users write. */
export interface DiskNeeds {
  /** Size of one segment of the log. */
  readonly segmentBytes: number;
  /** What one compaction of the store takes before it gives back what it replaces. */
  readonly compactionBytes: number;
}

/** The hard threshold when none is set. */
export function defaultHardBytes(segmentBytes: number): number {
  return 2 * segmentBytes;
}

/**
 * The thresholds when none are set. Hard: two segments of the log, so that the log never begins a segment without room
 * for it. Soft: above that the larger of a compaction, the same again, and 1 % of the disk (at most 1 GiB). A
 * compaction that finds no room breaks the store until the next start, and it may begin after the last write was let
 * in; the one that gives back the space of a deleted database needs room, too. Ballast: 1 % of the disk, but at least
 * 256 MiB and at most 1 GiB, on a small disk never more than a twentieth of it, and never so much that an empty disk
 * would have too little left for users to write. What is given stays as it is, and the rest follows from it.
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
  const wished = Math.min(Math.max(onePercent, 256 * MEBIBYTE), GIBIBYTE);
  const spareBytes = Math.max(0, capacityBytes - withSpare(softBytes, true));
  const ballastBytes = Math.min(wished, Math.floor(capacityBytes / 20), Math.floor(spareBytes / 2));
  return { softBytes, hardBytes, ballastBytes: given.ballastBytes ?? ballastBytes };
}

/** Of the log there are always the segment that is written and two that are kept ready. */
const LOG_SEGMENTS_MIN = 3;

/** The smallest disk on which users can write, with nothing on it but an empty log. */
export function capacityNeeded(needs: DiskNeeds, given: Partial<DiskThresholds> = {}): number {
  // The thresholds grow with the disk, and by less than it does.
  let capacityBytes = 0;
  for (;;) {
    const { softBytes, ballastBytes } = defaultThresholds(capacityBytes, needs, given);
    const neededBytes = Math.ceil(softBytes + ballastBytes + LOG_SEGMENTS_MIN * needs.segmentBytes);
    if (neededBytes <= capacityBytes) return capacityBytes;
    capacityBytes = neededBytes;
  }
}

/** What to do now, given what was the case until now. */
export function decideDisk(space: DiskSpace, thresholds: DiskThresholds, before: DiskState): DiskDecision {
  const { softBytes, hardBytes, ballastBytes } = thresholds;
  const { availableBytes } = space;
  const held = before.ballastHeldBytes;
  if (availableBytes < withSpare(hardBytes, before.level === 'read-only')) {
    // Once it is released, the next look at the disk says what that has brought.
    return held > 0 ? { level: 'refusing-writes', ballast: 'release' } : { level: 'read-only', ballast: 'keep' };
  }
  if (availableBytes < withSpare(softBytes, before.level !== 'open'))
    return { level: 'refusing-writes', ballast: 'keep' };
  if (held >= ballastBytes) return { level: 'open', ballast: 'keep' };
  // What is being made counts as there: the room for the rest is what is asked for.
  const hasRoom = availableBytes - (ballastBytes - held) >= softBytes;
  return hasRoom ? { level: 'open', ballast: 'make' } : { level: 'refusing-writes', ballast: 'keep' };
}

/** A threshold, with an eighth on top when it is to be risen above again (W16). */
function withSpare(bytes: number, isBelow: boolean): number {
  return isBelow ? bytes + bytes / 8 : bytes;
}
