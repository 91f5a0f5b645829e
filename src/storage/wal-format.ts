/**
 * The bytes of a segment that are not records: its header, and the header of each batch.
 *
 *   segment := header-sector batch* old*           batch := batch-header record* padding, in sectors (sectors.ts)
 *
 *   header sector (512 bytes)                      batch header (40 bytes)
 *     0   8  magic "CAIRNWAL"                        0  4  magic "CBAT"
 *     8   4  crc of [12, 512)                        4  4  crc of [8, 40)
 *    12   4  format version, 4                       8  8  seq
 *    16  16  cluster_id                             16  8  synced through
 *    32  16  store_id                               24  4  bytes of the records
 *    48   8  number of the segment                  28  4  count of the records
 *    56   8  bytes of the segment                   32  4  crc of the records' crc fields
 *    64   8  seq of the last batch before it        36  4  crc of the batch before it
 *    72   8  offset where that batch ended
 *    80   4  crc of that batch
 *    84   …  zero
 *
 * Every batch begins at a sector and is padded to the end of its last sector with PADDING_BYTE. A *sector* is 512
 * bytes: the largest unit that no disk writes by halves. Its last four bytes are a tag.
 *
 * This file does not judge what it reads: it says whether a header is one, and what stands in it.
 */
import { assert, crc32, quote } from '#base';
import { hex32, readU64, viewOf, writeU64 } from './basis/little-endian.ts';

export const SECTOR_BYTES = 512;
/** Bytes of a sector before its tag. */
export const SECTOR_CONTENT_BYTES = 508;
export const BATCH_HEADER_BYTES = 40;
export const FORMAT_VERSION = 4;
/** Largest batch, its padding included. Only the summary that begins a segment may be larger. */
export const BATCH_BYTES_MAX: number = 4 * 1024 * 1024;
export const PADDING_BYTE = 0xa5;
export const ID_BYTES = 16;

const SEGMENT_MAGIC = 'CAIRNWAL';
const BATCH_MAGIC = 0x54414243;

/** Identifies the owner of a log. Both ids are 16 bytes. */
export interface WalIdentity {
  readonly clusterId: Uint8Array;
  readonly storeId: Uint8Array;
}

/** The end of the log before a batch or a segment: what the next one continues. */
export interface LogEnd {
  /** Number of the last batch; 0 before the first. */
  readonly seq: number;
  /** The crc field of that batch; 0 before the first. */
  readonly crc: number;
  /** Where it ended in its segment. */
  readonly offset: number;
}

export interface SegmentHeader extends WalIdentity {
  readonly number: number;
  readonly segmentBytes: number;
  readonly previous: LogEnd;
}

export interface BatchHeader {
  readonly seq: number;
  /** Every batch up to this one was on disk before this one was written. */
  readonly syncedThrough: number;
  readonly recordBytes: number;
  readonly recordCount: number;
  /** CRC-32 of the crc fields of the records, in order. */
  readonly recordsCrc: number;
  /** The crc field of the batch before this one, in whichever segment that is. */
  readonly previousCrc: number;
}

/** Where each field of the segment header starts; docs/formats/wal.md says what it holds. */
const SEGMENT = {
  crc: 8,
  version: 12,
  clusterId: 16,
  storeId: 32,
  number: 48,
  bytes: 56,
  previousSeq: 64,
  previousOffset: 72,
  previousCrc: 80,
} as const;

const BATCH = {
  crc: 4,
  seq: 8,
  syncedThrough: 16,
  recordBytes: 24,
  recordCount: 28,
  recordsCrc: 32,
  previousCrc: 36,
} as const;

export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  assert(header.clusterId.length === ID_BYTES && header.storeId.length === ID_BYTES, 'The ids have 16 bytes');
  const bytes = new Uint8Array(SECTOR_BYTES);
  const view = viewOf(bytes);
  for (let at = 0; at < SEGMENT_MAGIC.length; at++) bytes[at] = SEGMENT_MAGIC.charCodeAt(at);
  view.setUint32(SEGMENT.version, FORMAT_VERSION, true);
  bytes.set(header.clusterId, SEGMENT.clusterId);
  bytes.set(header.storeId, SEGMENT.storeId);
  writeU64(view, SEGMENT.number, header.number);
  writeU64(view, SEGMENT.bytes, header.segmentBytes);
  writeU64(view, SEGMENT.previousSeq, header.previous.seq);
  writeU64(view, SEGMENT.previousOffset, header.previous.offset);
  view.setUint32(SEGMENT.previousCrc, header.previous.crc, true);
  view.setUint32(SEGMENT.crc, crc32(bytes, SEGMENT.version), true);
  return bytes;
}

/** The header in the first sector of a segment; or, as text, what stands there instead. */
export function decodeSegmentHeader(bytes: Uint8Array): (SegmentHeader & { readonly version: number }) | string {
  if (bytes.length < SECTOR_BYTES) return `${bytes.length} bytes, less than a header`;
  const view = viewOf(bytes);
  const magic = String.fromCharCode(...bytes.subarray(0, SEGMENT_MAGIC.length));
  if (magic !== SEGMENT_MAGIC) return `the magic ${quote(magic)} where "${SEGMENT_MAGIC}" belongs`;
  const stored = view.getUint32(SEGMENT.crc, true);
  const computed = crc32(bytes, SEGMENT.version, SECTOR_BYTES);
  if (stored !== computed)
    return `the header checksum ${hex32(stored)} over bytes whose checksum is ${hex32(computed)}`;
  return {
    version: view.getUint32(SEGMENT.version, true),
    clusterId: bytes.slice(SEGMENT.clusterId, SEGMENT.clusterId + ID_BYTES),
    storeId: bytes.slice(SEGMENT.storeId, SEGMENT.storeId + ID_BYTES),
    number: readU64(view, SEGMENT.number),
    segmentBytes: readU64(view, SEGMENT.bytes),
    previous: {
      seq: readU64(view, SEGMENT.previousSeq),
      offset: readU64(view, SEGMENT.previousOffset),
      crc: view.getUint32(SEGMENT.previousCrc, true),
    },
  };
}

/** Writes the header of a batch at `at` and returns its crc field, by which the next batch is chained to it. */
export function encodeBatchHeader(bytes: Uint8Array, view: DataView, at: number, header: BatchHeader): number {
  view.setUint32(at, BATCH_MAGIC, true);
  writeU64(view, at + BATCH.seq, header.seq);
  writeU64(view, at + BATCH.syncedThrough, header.syncedThrough);
  view.setUint32(at + BATCH.recordBytes, header.recordBytes, true);
  view.setUint32(at + BATCH.recordCount, header.recordCount, true);
  view.setUint32(at + BATCH.recordsCrc, header.recordsCrc, true);
  view.setUint32(at + BATCH.previousCrc, header.previousCrc, true);
  const crc = crc32(bytes, at + BATCH.seq, at + BATCH_HEADER_BYTES);
  view.setUint32(at + BATCH.crc, crc, true);
  return crc;
}

/** The batch header at `at` with its crc field, or undefined when there is none. */
export function decodeBatchHeader(
  bytes: Uint8Array,
  view: DataView,
  at: number,
): (BatchHeader & { readonly crc: number }) | undefined {
  if (view.getUint32(at, true) !== BATCH_MAGIC) return undefined;
  const crc = view.getUint32(at + BATCH.crc, true);
  if (crc !== crc32(bytes, at + BATCH.seq, at + BATCH_HEADER_BYTES)) return undefined;
  return {
    crc,
    seq: readU64(view, at + BATCH.seq),
    syncedThrough: readU64(view, at + BATCH.syncedThrough),
    recordBytes: view.getUint32(at + BATCH.recordBytes, true),
    recordCount: view.getUint32(at + BATCH.recordCount, true),
    recordsCrc: view.getUint32(at + BATCH.recordsCrc, true),
    previousCrc: view.getUint32(at + BATCH.previousCrc, true),
  };
}

/** Size of a batch with `recordBytes` bytes of records, in bytes: whole sectors. */
export function batchExtent(recordBytes: number): number {
  return Math.ceil((BATCH_HEADER_BYTES + recordBytes) / SECTOR_CONTENT_BYTES) * SECTOR_BYTES;
}

export function isSameIdentity(one: WalIdentity, other: WalIdentity): boolean {
  return isSameId(one.clusterId, other.clusterId) && isSameId(one.storeId, other.storeId);
}

function isSameId(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
