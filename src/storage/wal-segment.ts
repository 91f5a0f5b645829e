/**
 * The segments of a log as files: their names, their creation, and the segment that is being written.
 *
 *   W5  A segment is written only after its last batch, where every sector is old: zero, or from the time when the file
 *       was an earlier segment (sectors.ts).
 *   W9  A file has the name of a segment only when it has its full size and its header and summary are synced.
 */
import { join } from 'node:path';
import { orUnwritten, StorageFailure } from './basis/storage-failure.ts';
import type { Disk, DiskFile } from './disk.ts';
import type { GroupLedger } from './group-ledger.ts';
import { encodeSegmentHeader, type LogEnd, SECTOR_BYTES, type WalIdentity } from './wal-format.ts';
import { sealSummary } from './wal-summary.ts';

const NAME = /^(\d{12})\.wal$/;

export function segmentName(number: number): string {
  return `${String(number).padStart(12, '0')}.wal`;
}

/** The numbers of the segments among the names of a directory, in ascending order. */
export function segmentNumbers(names: readonly string[]): readonly number[] {
  return names
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** The segment at the end of the log. */
export interface ActiveSegment {
  readonly number: number;
  readonly file: DiskFile;
  readonly bytes: number;
}

export interface SegmentBirth {
  readonly disk: Disk;
  readonly directory: string;
  readonly identity: WalIdentity;
  readonly number: number;
  readonly segmentBytes: number;
  /** Where the log ends before this segment. */
  readonly previous: LogEnd;
}

/**
 * Turns a prepared file into the next segment: header, summary of every group, sync, and only then the name (W9).
 * Returns where the log ends now.
 */
export function bearSegment(
  birth: SegmentBirth,
  file: DiskFile,
  ledger: GroupLedger,
): { segment: ActiveSegment; end: LogEnd } {
  const { disk, directory, identity, number, segmentBytes, previous } = birth;
  const path = join(directory, segmentName(number));
  const summary = sealSummary(ledger, previous, number);
  if (summary.bytes.length > summaryBytesMax(segmentBytes)) throw tooManyGroups(path, segmentBytes);
  const header = encodeSegmentHeader({ ...identity, number, segmentBytes, previous });
  return orUnwritten(path, () => {
    file.write(header, 0);
    file.write(summary.bytes, SECTOR_BYTES);
    file.sync();
    file.close();
    disk.rename(file.path, path);
    disk.syncDirectory(directory);
    return {
      segment: { number, file: disk.open(path, 'existing'), bytes: segmentBytes },
      end: { seq: summary.seq, crc: summary.crc, offset: SECTOR_BYTES + summary.bytes.length },
    };
  });
}

/** The largest summary that a segment can begin with: half of it, so that the other half is for batches. */
function summaryBytesMax(segmentBytes: number): number {
  return segmentBytes / 2 - SECTOR_BYTES;
}

/** The largest batch of a segment: it fits into every segment that was just begun. */
export function batchBytesMax(segmentBytes: number): number {
  return segmentBytes / 2;
}

function tooManyGroups(path: string, segmentBytes: number): StorageFailure {
  const message =
    `${path} cannot begin with a summary of every group: it takes more than half of its ${segmentBytes} bytes. ` +
    'Start the node with larger segments.';
  return new StorageFailure('full', message, { path });
}
