/**
 * Reads the batches of one segment, and decides at the first incomplete one whether a crash explains it.
 *
 * A crash during a write leaves the last batch *torn*: it was never acknowledged, and dropping it loses nothing.
 * Anything else is *corrupt*: acknowledged records may be lost, and continuing would forget them. Both look alike, so
 * these rules state the possible effects of a crash:
 *
 *   - It affects only the last batch, because a batch is written after the one before it was synced. So a batch is not
 *     torn when there are bytes after it, when a later segment exists, or when the guard file has it as synced.
 *   - It can only leave sectors of that batch old (W5). So a batch is not torn unless one of its sectors is old. Its tag
 *     shows this, and no single flipped bit makes a sector old (see sectors.ts).
 *   - It never changes a sector that has reached the disk. So a record that touches no old sector must be valid.
 *
 * An old sector may contain a valid batch of an earlier segment. So nothing in a sector is read before its tag.
 *
 * This file works on bytes in memory; it opens nothing, repairs nothing and does not decode records.
 *
 *   W2  A batch is accepted when its header, each of its records, their order, its padding and its tags are as written,
 *       and not otherwise.
 *   W3  A batch is accepted only as the continuation of the one before it: next number, that one's crc.
 *   W4  A damaged batch is torn only when a crash can have caused it by all three rules above; else it is corrupt.
 */
import { crc32 } from '#base';
import { checksum, viewOf } from './basis/little-endian.ts';
import { RECORD_HEADER_BYTES, RECORD_OFFSET } from './log-records.ts';
import { filledEnd, isOfSegment, isOld, outOfSectors, storedAt, touchesOld } from './sectors.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_HEADER_BYTES,
  type BatchHeader,
  batchExtent,
  decodeBatchHeader,
  type LogEnd,
  PADDING_BYTE,
  SECTOR_BYTES,
  SECTOR_CONTENT_BYTES,
} from './wal-format.ts';

/** A loaded segment, all of it. A scan moves the content of complete batches out of their sectors. */
export interface SegmentBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** The records of a batch, at `[from, to)` of `bytes`, which are its content without sectors. */
export interface BatchRecords extends SegmentBytes {
  readonly from: number;
  readonly to: number;
  /** Offset of the batch in the segment. */
  readonly offset: number;
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
  /** The sector where a batch would begin is old, or the segment is full. */
  | { readonly kind: 'blank' }
  | DamagedBatch;

interface DamagedBatch extends Damage {
  readonly kind: 'damaged';
  /** True when no sector of the batch is old. Its content is then out of its sectors. */
  readonly isWhole?: boolean;
}

/** Why the scan of a segment ended. */
export type SegmentEnd =
  | { readonly kind: 'clean' }
  /** The batch that begins at `offset` was never finished. */
  | ({ readonly kind: 'torn' } & Damage)
  | ({ readonly kind: 'corrupt' } & Damage);

/** Facts about a segment besides its batches. */
export interface SegmentContext {
  readonly number: number;
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
    const reading = readBatch(segment, last, context.number);
    if (reading.kind !== 'batch') return { last, end: judge(segment, last, context, reading) };
    const damage = onBatch(reading.batch);
    if (damage !== undefined) return { last, end: { kind: 'corrupt', ...damage } };
    last = reading.batch.end;
  }
}

function readBatch(segment: SegmentBytes, last: LogEnd, number: number): BatchReading {
  const { bytes, view } = segment;
  const at = last.offset;
  if (at === bytes.length || isOld(view, at, number)) return { kind: 'blank' };
  const header = headerAt(segment, at, number);
  if (header === undefined) return damaged(at, 'bytes that are no batch header');
  if (header.seq !== last.seq + 1) return damaged(at, `batch ${header.seq} where batch ${last.seq + 1} belongs`);
  if (header.previousCrc !== last.crc)
    return damaged(at, `batch ${header.seq}, chained to another batch than the last`);
  if (header.syncedThrough !== last.seq) return damaged(at, `batch ${header.seq}, written before the last was synced`);
  const end = at + batchExtent(header.recordBytes);
  if (end > bytes.length) return damaged(at, `batch ${header.seq}, which would end beyond the segment`);
  if (!isOfSegment(view, at, end, number)) return damaged(at, `batch ${header.seq}, with sectors of another segment`);
  outOfSectors(bytes.subarray(at, end));
  const from = at + BATCH_HEADER_BYTES;
  const records = { ...segment, from, to: from + header.recordBytes, offset: at };
  const contentEnd = at + ((end - at) / SECTOR_BYTES) * SECTOR_CONTENT_BYTES;
  const fault = checkRecords(records, header) ?? checkPadding(records, contentEnd);
  if (fault !== undefined) return { kind: 'damaged', ...fault, isWhole: true };
  const logEnd = { seq: header.seq, crc: header.crc, offset: end };
  return { kind: 'batch', batch: { header, offset: at, records, end: logEnd } };
}

/** The header of a batch that begins at `at`; undefined when the sector there is of another segment. */
function headerAt({ bytes, view }: SegmentBytes, at: number, number: number): ReturnType<typeof decodeBatchHeader> {
  return isOfSegment(view, at, at + SECTOR_BYTES, number) ? decodeBatchHeader(bytes, view, at) : undefined;
}

/** Offset in the segment of the byte at `at` in the bytes of these records. */
export function offsetOf({ from, offset }: BatchRecords, at: number): number {
  return offset + storedAt(at - from + BATCH_HEADER_BYTES);
}

function checkRecords(records: BatchRecords, header: BatchHeader): Damage | undefined {
  const { bytes, view, from, to } = records;
  let at = from;
  let recordsCrc = 0;
  for (let count = 0; count < header.recordCount; count++) {
    const end = recordEnd(view, at, to);
    const offset = offsetOf(records, at);
    if (end === undefined) return { offset, found: `a record of batch ${header.seq} of impossible length` };
    if (!isRecordWhole(records, at, end)) {
      return { offset, found: `a record of batch ${header.seq} that does not match its checksum` };
    }
    recordsCrc = crc32(bytes, at + RECORD_OFFSET.crc, at + RECORD_OFFSET.chain, recordsCrc);
    at = end;
  }
  if (at === to && recordsCrc === header.recordsCrc) return undefined;
  return { offset: offsetOf(records, from), found: `records that are not those of batch ${header.seq}` };
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

function checkPadding(records: BatchRecords, end: number): Damage | undefined {
  for (let at = records.to; at < end; at++) {
    const byte = records.bytes[at];
    if (byte !== PADDING_BYTE)
      return { offset: offsetOf(records, at), found: `the byte ${byte} in the padding of a batch` };
  }
  return undefined;
}

/** W4. `reading` is the result at the end of `last`, where the next batch belongs. */
function judge(
  segment: SegmentBytes,
  last: LogEnd,
  context: SegmentContext,
  reading: { readonly kind: 'blank' } | DamagedBatch,
): SegmentEnd {
  const { bytes, view } = segment;
  if (reading.kind === 'damaged' && reading.isWhole) return corrupt(reading, 'none of its sectors was lost');
  const filled = filledEnd(view, last.offset, bytes.length, context.number);
  if (reading.kind === 'blank' && filled === last.offset) return judgeBlank(last, context);
  const damage =
    reading.kind === 'damaged'
      ? reading
      : { offset: last.offset, found: `nothing where batch ${last.seq + 1} begins, and bytes behind it` };
  const proof = proofAgainstCrash(segment, last, context, filled) ?? undamagedRecords(segment, last, context.number);
  if (proof === undefined) return { kind: 'torn', offset: last.offset, found: damage.found };
  return corrupt(damage, proof);
}

function corrupt({ offset, found }: Damage, proof: string): SegmentEnd {
  return { kind: 'corrupt', offset, found: `${found}; it is no torn write: ${proof}` };
}

/**
 * There is nothing after the last batch: a log ends like that, unless it is known to have more. The header of the next
 * segment names the end of an earlier one.
 */
function judgeBlank(last: LogEnd, context: SegmentContext): SegmentEnd {
  const missing = last.seq + 1;
  const found = `nothing where batch ${missing} belongs`;
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
  const header = headerAt(segment, last.offset, context.number);
  if (header === undefined) return proofWithoutHeader(segment, last, context.number, filled);
  const end = last.offset + batchExtent(header.recordBytes);
  if (header.seq !== seq || header.previousCrc !== last.crc || end > bytes.length) return 'its header is whole';
  if (filled > end) return `bytes stand behind it, up to offset ${filled}`;
  if (!touchesOld(view, last.offset, end, context.number)) return 'none of its sectors was lost';
  return undefined;
}

/** Like `proofAgainstCrash`, for a batch whose first sector holds no header. Without it, its extent is unknown. */
function proofWithoutHeader(segment: SegmentBytes, last: LogEnd, number: number, filled: number): string | undefined {
  if (!isOld(segment.view, last.offset, number)) return 'its first sector was not lost';
  if (filled > last.offset + BATCH_BYTES_MAX) return `bytes stand behind it, up to offset ${filled}`;
  for (let at = last.offset; at < filled; at += SECTOR_BYTES) {
    if (headerAt(segment, at, number) !== undefined) return `another batch stands behind it, at offset ${at}`;
  }
  return undefined;
}

/** Why the batch after `last` cannot be torn, judged by its records: one that touches no old sector must be right. */
function undamagedRecords(segment: SegmentBytes, last: LogEnd, number: number): string | undefined {
  const header = headerAt(segment, last.offset, number);
  if (header === undefined) return undefined;
  const content = segment.bytes.slice(last.offset, last.offset + batchExtent(header.recordBytes));
  outOfSectors(content);
  const to = BATCH_HEADER_BYTES + header.recordBytes;
  const records = { ...segmentBytes(content), from: BATCH_HEADER_BYTES, to, offset: last.offset };
  const { view } = records;
  const isLost = (from: number, until: number): boolean =>
    touchesOld(segment.view, offsetOf(records, from), offsetOf(records, until - 1) + 1, number);
  let at = records.from;
  for (let count = 0; count < header.recordCount; count++) {
    const end = recordEnd(view, at, to);
    if (isLost(at, Math.min(to, at + RECORD_HEADER_BYTES))) return undefined;
    if (end === undefined || (!isLost(at, end) && !isRecordWhole(records, at, end))) {
      return `the record at offset ${offsetOf(records, at)} touches no lost sector`;
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
