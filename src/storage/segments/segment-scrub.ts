/**
 * Verifies the sealed segments of an open store, slice by slice, one history after the other.
 *
 * The core writes meanwhile: a segment without a footer gets one with the next checkpoint, and a history may be
 * deleted. So a segment with a fault is read once more a little later, if it still exists.
 *
 * It has neither timer nor thread: scrub.ts of #cluster gives it both.
 */
import type { HistoryFault } from '#kv';
import { nodeSegmentDisk, type SegmentDisk } from './segment-disk.ts';
import { bytesUpTo, groupName, groupsIn, segmentBases, segmentName } from './segment-format.ts';
import { damageOf, type EndedSegment, endedSegments, verifySegment } from './segment-seal.ts';

/**
 * Verifies the segments of the histories in this directory. Yields how many bytes it has read, that it should continue
 * later, or the damage of a segment.
 * @throws a system error when a file cannot be opened
 */
export function* scrubSegments(
  directory: string,
  disk: SegmentDisk = nodeSegmentDisk,
): Generator<number | 'not-now' | HistoryFault, void> {
  for (const group of groupsIn(disk.list(directory))) {
    const history = `${directory}/${groupName(group)}`;
    for (const segment of endedIn(disk, history)) {
      const path = `${history}/${segmentName(segment.base)}`;
      if ((yield* faultIn(disk, path, segment)) === undefined) continue;
      yield 'not-now';
      const isThere = endedIn(disk, history).some(({ base, next }) => base === segment.base && next === segment.next);
      const fault = isThere ? yield* faultIn(disk, path, segment) : undefined;
      if (fault !== undefined) yield damageOf(group, segment, fault);
    }
  }
}

function endedIn(disk: SegmentDisk, history: string): readonly EndedSegment[] {
  return endedSegments(segmentBases(disk.list(history)));
}

/** Undefined also for a segment that is gone, or has no footer yet. */
function* faultIn(disk: SegmentDisk, path: string, segment: EndedSegment): Generator<number, string | undefined> {
  using file = disk.open(path);
  if (file === undefined || file.size() === bytesUpTo(segment.next, segment.base)) return undefined;
  const end = yield* verifySegment(file, segment);
  return typeof end === 'string' ? end : undefined;
}
