/**
 * The buffer in which a batch is assembled: records are staged side by side, then sealed in place, and the result is
 * written to disk in one write.
 *
 * Staging copies each message once, not each record. Sealing walks the records once and gives each its chain and its
 * checksum. This file does not write, and does not choose the segment.
 */
import { assert, crc32, type GroupId, toGroupId } from '#base';
import { checksum, readU64, viewOf } from './basis/little-endian.ts';
import type { GroupLedger, RecordPlace } from './group-ledger.ts';
import { decodeRecord, PAYLOAD_BYTES_MAX, RECORD_HEADER_BYTES, RECORD_OFFSET, RECORD_TYPE } from './log-records.ts';
import { intoSectors } from './sectors.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_HEADER_BYTES,
  type BatchHeader,
  batchExtent,
  encodeBatchHeader,
  type LogEnd,
  PADDING_BYTE,
  SECTOR_BYTES,
  SECTOR_CONTENT_BYTES,
} from './wal-format.ts';

assert(
  batchExtent(RECORD_HEADER_BYTES + PAYLOAD_BYTES_MAX) <= BATCH_BYTES_MAX,
  'The largest record fits into the largest batch',
);

export interface SealedBatch {
  /** Sectors with header, records and padding, lent until the slab is used again. */
  readonly bytes: Uint8Array;
  readonly seq: number;
  /** The batch's crc field, which the next one repeats. */
  readonly crc: number;
  /** True when a term or a vote changes in it: the guard is then synced before the batch counts as written (W8). */
  readonly hasHardState: boolean;
}

export class BatchSlab {
  /** The content of the batch from 0 on, until it is sealed. */
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #contentBytesMax: number;
  #end = BATCH_HEADER_BYTES;

  /** With a capacity of whole sectors. */
  constructor(capacityBytes: number = BATCH_BYTES_MAX) {
    this.#bytes = Buffer.allocUnsafeSlow(capacityBytes);
    this.#view = viewOf(this.#bytes);
    this.#contentBytesMax = (capacityBytes / SECTOR_BYTES) * SECTOR_CONTENT_BYTES;
  }

  get isEmpty(): boolean {
    return this.#end === BATCH_HEADER_BYTES;
  }

  /** Bytes of the batch on disk, as it is now. */
  get extent(): number {
    return batchExtent(this.#end - BATCH_HEADER_BYTES);
  }

  /** Returns whether records of so many bytes fit into an empty batch, and not into this one. */
  needsNext(bytes: number): boolean {
    return bytes > this.#contentBytesMax - this.#end && bytes <= this.#contentBytesMax - BATCH_HEADER_BYTES;
  }

  clear(): void {
    this.#end = BATCH_HEADER_BYTES;
  }

  /**
   * Stages the records of a message from offset `from` on, as many as fit; returns where it stopped. A message that
   * does not even begin to fit returns `from`.
   */
  stage(records: Uint8Array, from: number): number {
    const to = this.#fitting(records, from);
    this.#bytes.set(from === 0 && to === records.length ? records : records.subarray(from, to), this.#end);
    this.#end += to - from;
    return to;
  }

  /**
   * Seals the staged records as the batch after `last`, for the segment of that number, and enters them into the
   * ledger. A record that breaks a rule of the ledger is a bug of its encoder (W11).
   */
  seal(last: LogEnd, segment: number, ledger: GroupLedger): SealedBatch {
    const place = { segment, crc: 0 };
    return this.#finish(last, segment, (at, end) => {
      const group = toGroupId(this.#view.getUint32(at + RECORD_OFFSET.group, true));
      this.#view.setUint32(at + RECORD_OFFSET.chain, ledger.chain(group), true);
      place.crc = this.#sealRecord(at, end);
      const fault = this.#admit(ledger, group, at, place);
      assert(fault === undefined, 'A record continues what the log holds of its group', fault);
    });
  }

  /** Like `seal`, for records without a chain: those of a summary restate the ledger, and rows have no group. */
  sealUnchained(last: LogEnd, segment: number): SealedBatch {
    return this.#finish(last, segment, (at, end) => this.#sealRecord(at, end));
  }

  #fitting(records: Uint8Array, from: number): number {
    const room = this.#contentBytesMax - this.#end;
    if (records.length - from <= room) return records.length;
    const view = viewOf(records);
    let to = from;
    for (let next = from; next < records.length; ) {
      next += view.getUint32(next + RECORD_OFFSET.length, true);
      if (next - from > room) break;
      to = next;
    }
    return to;
  }

  #finish(last: LogEnd, segment: number, sealRecord: (at: number, end: number) => void): SealedBatch {
    let recordCount = 0;
    let recordsCrc = 0;
    let hasHardState = false;
    for (let at = BATCH_HEADER_BYTES; at < this.#end; recordCount++) {
      const end = at + this.#view.getUint32(at + RECORD_OFFSET.length, true);
      assert(
        end >= at + RECORD_HEADER_BYTES && end <= this.#end,
        'Records fill the bytes that were appended',
        end - at,
      );
      sealRecord(at, end);
      recordsCrc = crc32(this.#bytes, at + RECORD_OFFSET.crc, at + RECORD_OFFSET.chain, recordsCrc);
      if (this.#bytes[at + RECORD_OFFSET.type] === RECORD_TYPE.hardState) hasHardState = true;
      at = end;
    }
    const sectors = this.#bytes.subarray(0, this.extent);
    sectors.fill(PADDING_BYTE, this.#end);
    const header: BatchHeader = {
      seq: last.seq + 1,
      syncedThrough: last.seq,
      recordBytes: this.#end - BATCH_HEADER_BYTES,
      recordCount,
      recordsCrc,
      previousCrc: last.crc,
    };
    const crc = encodeBatchHeader(this.#bytes, this.#view, 0, header);
    intoSectors(sectors, segment);
    return { bytes: sectors, seq: header.seq, crc, hasHardState };
  }

  #sealRecord(at: number, end: number): number {
    const crc = checksum(this.#bytes, at + RECORD_OFFSET.chain, end);
    this.#view.setUint32(at + RECORD_OFFSET.crc, crc, true);
    return crc;
  }

  #admit(ledger: GroupLedger, group: GroupId, at: number, place: RecordPlace): string | undefined {
    if (this.#bytes[at + RECORD_OFFSET.type] === RECORD_TYPE.entry) {
      const term = readU64(this.#view, at + RECORD_OFFSET.term);
      return ledger.admitEntry(group, term, readU64(this.#view, at + RECORD_OFFSET.index), place);
    }
    const record = decodeRecord(this.#bytes, this.#view, at);
    return typeof record === 'string' ? record : ledger.admit(record, place);
  }
}

/** The records as one batch after `last`, with `sealUnchained`. */
export function sealRecords(records: Uint8Array, last: LogEnd, segment: number): SealedBatch {
  const slab = new BatchSlab(batchExtent(records.length));
  slab.stage(records, 0);
  return slab.sealUnchained(last, segment);
}
