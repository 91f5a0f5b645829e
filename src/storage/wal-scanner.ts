/**
 * Reads the batches of one segment, and decides at the first incomplete one whether a crash explains it.
 *
 * A crash during a write leaves the last batch *torn*: it was never acknowledged, and dropping it loses nothing.
 * Anything else is *corrupt*: acknowledged records may be lost, and continuing would forget them. Both look alike, so
 * these rules state the possible effects of a crash:
 *
 *   - It affects only the last batch, because a batch is written after the one before it was synced. So a batch is not
 *     torn when there are bytes after it, when a later segment exists, or when the guard file has it as synced.
 *   - It can only turn sectors of that batch back into zeros (W5). So a batch is not torn unless one of its sectors is
 *     all zero. None is by its content, nor by a single flipped bit (see wal-format.ts).
 *   - It never changes a sector that has reached the disk. So a record that touches no hole must be valid.
 *
 * This file reads bytes in memory; it opens nothing, repairs nothing and does not decode records.
 *
 *   W2  A batch is accepted when its header, each of its records, their order and its padding are as written, and not
 *       otherwise.
 *   W3  A batch is accepted only as the continuation of the one before it: next number, that one's crc.
 *   W4  A damaged batch is torn only when a crash can have caused it by all three rules above; else it is corrupt.
 */
import { crc32 } from '#base';
import { checksum, viewOf } from './basis/little-endian.ts';
import { RECORD_HEADER_BYTES, RECORD_OFFSET } from './log-records.ts';
import { filledEnd, isZero, touchesHole } from './sectors.ts';
import {
  applyMask,
  BATCH_BYTES_MAX,
  BATCH_HEADER_BYTES,
  type BatchHeader,
  batchExtent,
  decodeBatchHeader,
  type LogEnd,
  PADDING_BYTE,
  SECTOR_BYTES,
} from './wal-format.ts';

/** A loaded segment, all of it. */
export interface SegmentBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** The unmasked records of a batch, at `[from, to)` of `bytes`. */
export interface BatchRecords extends SegmentBytes {
  readonly from: number;
  readonly to: number;
  /** Offset of `bytes` in the segment. */
  readonly shift: number;
}

/** A whole batch in a segment. */
export interface ScannedBatch {
  readonly header: BatchHeader;
  /** Where it begins in the segment. */
  readonly offset: number;
  readonly records: BatchRecords;
  readonly end: LogEnd;
}

export interface Damage {
  readonly offset: number;
  /** The bytes there in words, as the second half of "found …". */
  readonly found: string;
}

type BatchReading =
  | { readonly kind: 'batch'; readonly batch: ScannedBatch }
  /** The sector where a batch would begin is all zero, or the segment is full. */
  | { readonly kind: 'blank' }
  | ({ readonly kind: 'damaged' } & Damage);

/** Why the scan of a segment ended. */
export type SegmentEnd =
  | { readonly kind: 'clean' }
  /** The batch that begins at `offset` was never finished. */
  | ({ readonly kind: 'torn' } & Damage)
  | ({ readonly kind: 'corrupt' } & Damage);

/** Facts about a segment from other files. */
export interface SegmentContext {
  /** False when a later segment exists: then everything in this one was synced. */
  readonly isLast: boolean;
  /** Every batch up to this one was synced, says the guard file. */
  readonly syncedThrough: number;
  /** The first batch of a segment is synced before the segment gets its name, so it is never torn (W9). */
  readonly firstSeq: number;
}

export function segmentBytes(bytes: Uint8Array): SegmentBytes {
  return { bytes, view: viewOf(bytes) };
}

/** Reads the batches from `from` on, hands each whole one to `onBatch`, and says where and why it stopped. */
export function scanBatches(
  segment: SegmentBytes,
  from: LogEnd,
  context: SegmentContext,
  onBatch: (batch: ScannedBatch) => Damage | undefined,
): { readonly last: LogEnd; readonly end: SegmentEnd } {
  let last = from;
  for (;;) {
    const reading = readBatch(segment, last);
    if (reading.kind !== 'batch') return { last, end: judge(segment, last, context, reading) };
    const damage = onBatch(reading.batch);
    if (damage !== undefined) return { last, end: { kind: 'corrupt', ...damage } };
    last = reading.batch.end;
  }
}

function readBatch(segment: SegmentBytes, last: LogEnd): BatchReading {
  const { bytes, view } = segment;
  const at = last.offset;
  if (at === bytes.length || isZero(bytes, at, at + SECTOR_BYTES)) return { kind: 'blank' };
  const header = decodeBatchHeader(bytes, view, at);
  if (header === undefined) return damaged(at, 'bytes that are no batch header');
  if (header.seq !== last.seq + 1) return damaged(at, `batch ${header.seq} where batch ${last.seq + 1} belongs`);
  if (header.previousCrc !== last.crc)
    return damaged(at, `batch ${header.seq}, chained to another batch than the last`);
  if (header.syncedThrough !== last.seq) return damaged(at, `batch ${header.seq}, written before the last was synced`);
  const end = at + batchExtent(header.recordBytes);
  if (end > bytes.length) return damaged(at, `batch ${header.seq}, which would end beyond the segment`);
  const records = recordsOf(segment, at, header);
  const fault = checkRecords(records, header) ?? checkPadding(records, end - records.shift);
  if (fault !== undefined) return { kind: 'damaged', ...fault };
  const logEnd = { seq: header.seq, crc: header.crc, offset: end };
  return { kind: 'batch', batch: { header, offset: at, records, end: logEnd } };
}

/** The records of the batch at `at`: in place, or in a copy when there is a mask to take off. */
function recordsOf(segment: SegmentBytes, at: number, header: BatchHeader): BatchRecords {
  const from = at + BATCH_HEADER_BYTES;
  if (header.mask === 0) return { ...segment, from, to: from + header.recordBytes, shift: 0 };
  const copy = segment.bytes.slice(at, at + batchExtent(header.recordBytes));
  applyMask(copy, header.mask);
  const to = BATCH_HEADER_BYTES + header.recordBytes;
  return { ...segmentBytes(copy), from: BATCH_HEADER_BYTES, to, shift: at };
}

function checkRecords(records: BatchRecords, header: BatchHeader): Damage | undefined {
  const { bytes, view, from, to, shift } = records;
  let at = from;
  let recordsCrc = 0;
  for (let count = 0; count < header.recordCount; count++) {
    const end = recordEnd(view, at, to);
    if (end === undefined) return { offset: at + shift, found: `a record of batch ${header.seq} of impossible length` };
    if (!isRecordWhole(records, at, end)) {
      return { offset: at + shift, found: `a record of batch ${header.seq} that does not match its checksum` };
    }
    recordsCrc = crc32(bytes, at + RECORD_OFFSET.crc, at + RECORD_OFFSET.chain, recordsCrc);
    at = end;
  }
  if (at === to && recordsCrc === header.recordsCrc) return undefined;
  return { offset: from + shift, found: `records that are not those of batch ${header.seq}` };
}

/** Where the record at `at` ends, if its length is possible for one that must end at or before `to`. */
function recordEnd(view: DataView, at: number, to: number): number | undefined {
  if (at + RECORD_HEADER_BYTES > to) return undefined;
  const length = view.getUint32(at + RECORD_OFFSET.length, true);
  return length < RECORD_HEADER_BYTES || at + length > to ? undefined : at + length;
}

function isRecordWhole({ bytes, view }: SegmentBytes, at: number, end: number): boolean {
  return view.getUint32(at + RECORD_OFFSET.crc, true) === checksum(bytes, at + RECORD_OFFSET.chain, end);
}

function checkPadding({ bytes, to, shift }: BatchRecords, end: number): Damage | undefined {
  for (let at = to; at < end; at++) {
    if (bytes[at] !== PADDING_BYTE)
      return { offset: at + shift, found: `the byte ${bytes[at]} in the padding of a batch` };
  }
  return undefined;
}

/** W4. `reading` is the result at the end of `last`, where the next batch belongs. */
function judge(
  segment: SegmentBytes,
  last: LogEnd,
  context: SegmentContext,
  reading: { readonly kind: 'blank' } | ({ readonly kind: 'damaged' } & Damage),
): SegmentEnd {
  const { bytes } = segment;
  const filled = filledEnd(bytes, last.offset, bytes.length);
  if (reading.kind === 'blank' && filled === last.offset) return judgeBlank(last, context);
  const damage =
    reading.kind === 'damaged'
      ? reading
      : { offset: last.offset, found: `zeros where batch ${last.seq + 1} begins, and bytes behind them` };
  const proof = proofAgainstCrash(segment, last, context, filled) ?? undamagedRecords(segment, last);
  if (proof === undefined) return { kind: 'torn', offset: last.offset, found: damage.found };
  return { kind: 'corrupt', offset: damage.offset, found: `${damage.found}; it is no torn write: ${proof}` };
}

/**
 * There is nothing after the last batch: a log ends like that, unless it is known to have more. The header of the next
 * segment names the end of an earlier one.
 */
function judgeBlank(last: LogEnd, context: SegmentContext): SegmentEnd {
  const missing = last.seq + 1;
  const found = `zeros where batch ${missing} belongs`;
  if (context.isLast && last.seq < context.syncedThrough) {
    return { kind: 'corrupt', offset: last.offset, found: `${found}, though ${guardSays(context)}` };
  }
  if (missing === context.firstSeq) {
    return { kind: 'corrupt', offset: last.offset, found: `${found}, the one that every segment begins with` };
  }
  return { kind: 'clean' };
}

/** The reason why no crash can have damaged the batch after `last`; undefined when one can. */
function proofAgainstCrash(
  segment: SegmentBytes,
  last: LogEnd,
  context: SegmentContext,
  filled: number,
): string | undefined {
  const { bytes, view } = segment;
  const seq = last.seq + 1;
  if (!context.isLast) return 'a later segment exists, so this one was synced';
  if (seq <= context.syncedThrough) return guardSays(context);
  if (seq === context.firstSeq) return 'a segment gets its name after its first batch is synced';
  const header = decodeBatchHeader(bytes, view, last.offset);
  if (header === undefined) return proofWithoutHeader(segment, last, filled);
  const end = last.offset + batchExtent(header.recordBytes);
  if (header.seq !== seq || header.previousCrc !== last.crc || end > bytes.length) return 'its header is whole';
  if (filled > end) return `bytes stand behind it, up to offset ${filled}`;
  if (!touchesHole(bytes, last.offset, end)) return 'none of its sectors was lost';
  return undefined;
}

/** Like `proofAgainstCrash`, for a batch whose first sector holds no header. Without it, its extent is unknown. */
function proofWithoutHeader(segment: SegmentBytes, last: LogEnd, filled: number): string | undefined {
  const { bytes, view } = segment;
  if (!isZero(bytes, last.offset, last.offset + SECTOR_BYTES)) return 'its first sector was not lost';
  if (filled > last.offset + BATCH_BYTES_MAX) return `bytes stand behind it, up to offset ${filled}`;
  for (let at = last.offset; at < filled; at += SECTOR_BYTES) {
    if (decodeBatchHeader(bytes, view, at) !== undefined) return `another batch stands behind it, at offset ${at}`;
  }
  return undefined;
}

/** Why the batch after `last` cannot be torn, judged by its records: one that touches no hole must be right. */
function undamagedRecords(segment: SegmentBytes, last: LogEnd): string | undefined {
  const header = decodeBatchHeader(segment.bytes, segment.view, last.offset);
  if (header === undefined) return undefined;
  const records = recordsOf(segment, last.offset, header);
  const { view, to, shift } = records;
  const isLost = (from: number, until: number): boolean => touchesHole(segment.bytes, from + shift, until + shift);
  let at = records.from;
  for (let count = 0; count < header.recordCount; count++) {
    const end = recordEnd(view, at, to);
    if (isLost(at, Math.min(to, at + RECORD_HEADER_BYTES))) return undefined;
    if (end === undefined || (!isLost(at, end) && !isRecordWhole(records, at, end))) {
      return `the record at offset ${at + shift} touches no lost sector`;
    }
    at = end;
  }
  return undefined;
}

function guardSays(context: SegmentContext): string {
  return `the guard file knows every batch up to ${context.syncedThrough} as synced`;
}

function damaged(offset: number, found: string): BatchReading {
  return { kind: 'damaged', offset, found };
}
