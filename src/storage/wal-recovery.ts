/**
 * Reads a whole log back: every segment in order, each batch checked, each record admitted to the ledger by the same
 * rules as when it was written. Ends with a log that can be continued, or refuses.
 *
 * It changes only the end of the last segment on disk: it overwrites a torn batch with zeros, and writes and syncs the
 * last whole batch again. The process may have died before it synced that batch. After a failed sync Linux marks the
 * pages clean, so they can be read here although they are on no disk.
 *
 *   W10  Everything that opening a log reports is on disk.
 */
import { join } from 'node:path';
import { assert, type GroupId, toGroupId } from '#base';
import { viewOf } from './basis/little-endian.ts';
import { corruption, foreign, missing, orUnwritten } from './basis/storage-failure.ts';
import type { Disk, DiskFile } from './disk.ts';
import { GroupLedger } from './group-ledger.ts';
import { decodeRecord, type LogRecord, RECORD_OFFSET, recordEnd } from './log-records.ts';
import type { RecoveredGroup, RecoveredLog } from './log-writer.ts';
import { RecoveredEntries } from './recovered-entries.ts';
import { filledEnd } from './sectors.ts';
import {
  decodeSegmentHeader,
  FORMAT_VERSION,
  isSameIdentity,
  type LogEnd,
  SECTOR_BYTES,
  type SegmentHeader,
  type WalIdentity,
} from './wal-format.ts';
import {
  type BatchRecords,
  type Damage,
  offsetOf,
  type ScannedBatch,
  type SegmentContext,
  scanBatches,
  segmentBytes,
} from './wal-scanner.ts';
import { type ActiveSegment, segmentName } from './wal-segment.ts';
import { compareSummary, restoreSummary } from './wal-summary.ts';

export interface RecoverySource {
  readonly disk: Disk;
  readonly directory: string;
  readonly identity: WalIdentity;
  /** The segments that there are, in ascending order; at least one. */
  readonly segments: readonly number[];
  /** Content of the guard file. */
  readonly syncedThrough: number;
}

export interface RecoveredWal {
  readonly log: RecoveredLog;
  readonly ledger: GroupLedger;
  readonly end: LogEnd;
  readonly active: ActiveSegment;
}

export function recoverWal(source: RecoverySource): RecoveredWal {
  return new Recovery(source).run();
}

class Recovery {
  readonly #source: RecoverySource;
  readonly #ledger = new GroupLedger();
  readonly #entries = new RecoveredEntries();
  /** Holds one segment at a time. */
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** Where the log ends as far as it was read; undefined before the first segment. */
  #end: LogEnd | undefined;

  constructor(source: RecoverySource) {
    this.#source = source;
  }

  run(): RecoveredWal {
    const { segments } = this.#source;
    const first = segments[0] ?? 0;
    let active: ActiveSegment | undefined;
    for (const [place, number] of segments.entries()) {
      if (number !== first + place) throw missing(this.#path(first + place), `segment ${number} in its place`);
      active?.file.close();
      active = this.#readSegment(number, place === segments.length - 1);
      this.#entries.keep(this.#buffer.buffer);
    }
    assert(active !== undefined && this.#end !== undefined, 'A log that is recovered has a segment');
    const log = { groups: this.#groups(first), tombstones: new Set(this.#ledger.tombstones) };
    // The memory is released at once: a thread that makes little garbage may not collect for a long time.
    this.#buffer.buffer.transfer(0);
    return { log, ledger: this.#ledger, end: this.#end, active };
  }

  #readSegment(number: number, isLast: boolean): ActiveSegment {
    const path = this.#path(number);
    const file = this.#source.disk.open(path, 'existing');
    const size = file.size();
    if (this.#buffer.length < size) this.#buffer = new Uint8Array(size);
    const bytes = this.#buffer.subarray(0, size);
    const { previous } = this.#checkOrder(readHeader(file, bytes, this.#source.identity), path, number);
    const firstSeq = previous.seq + 1;
    const context = { isLast, syncedThrough: this.#source.syncedThrough, firstSeq, number };
    this.#end = readBatches({ file, bytes, previous }, context, ({ header, records }) =>
      header.seq === firstSeq ? this.#takeSummary(records) : this.#takeBatch(records, number),
    );
    return { number, file, bytes: size };
  }

  #checkOrder(header: SegmentHeader, path: string, number: number): SegmentHeader {
    if (header.number !== number) throw corruption(path, 0, `the header of segment ${header.number}`);
    const before = this.#end;
    const { seq, crc, offset } = header.previous;
    if (before !== undefined && (seq !== before.seq || crc !== before.crc || offset !== before.offset)) {
      const claimed = `a segment that continues batch ${seq} at offset ${offset}`;
      const found = `${claimed}, while the one before it ends with batch ${before.seq} at ${before.offset}`;
      throw corruption(path, 0, found);
    }
    return header;
  }

  /** Only the summary of the first segment is news; the others must agree with what was read before them. */
  #takeSummary(summary: BatchRecords): Damage | undefined {
    const { bytes, view, from, to } = summary;
    const records: LogRecord[] = [];
    for (let at = from; at < to; at = recordEnd(view, at)) {
      const record = decodeRecord(bytes, view, at);
      if (typeof record === 'string') return { offset: offsetOf(summary, at), found: record };
      records.push(record);
    }
    const read = this.#end === undefined ? restoreSummary : compareSummary;
    const fault = read(records, this.#ledger);
    return fault === undefined ? undefined : { offset: offsetOf(summary, from), found: fault };
  }

  #takeBatch(records: BatchRecords, segment: number): Damage | undefined {
    const { bytes, view, from, to } = records;
    for (let at = from; at < to; at = recordEnd(view, at)) {
      const record = decodeRecord(bytes, view, at);
      if (typeof record === 'string') return { offset: offsetOf(records, at), found: record };
      const group = toGroupId(view.getUint32(at + RECORD_OFFSET.group, true));
      if (view.getUint32(at + RECORD_OFFSET.chain, true) !== this.#ledger.chain(group)) {
        const found = `a record of group ${group}, chained to another than its last`;
        return { offset: offsetOf(records, at), found };
      }
      const fault = this.#ledger.admit(record, { segment, crc: view.getUint32(at + RECORD_OFFSET.crc, true) });
      if (fault !== undefined) return { offset: offsetOf(records, at), found: fault };
      this.#entries.take(record);
    }
    return undefined;
  }

  /** Every live group, none of which may lack an entry after its checkpoint. */
  #groups(firstSegment: number): ReadonlyMap<GroupId, RecoveredGroup> {
    const groups = new Map<GroupId, RecoveredGroup>();
    for (const group of this.#ledger.groupIds()) {
      const { hardState, checkpoint, lastIndex } = this.#ledger.summary(group);
      const entries = this.#entries.of(group);
      if (entries.length !== lastIndex - checkpoint.index) {
        const wanted = `entries ${checkpoint.index + 1} to ${lastIndex} of group ${group}`;
        throw missing(this.#path(firstSegment - 1), `only ${entries.length} of the ${wanted} in the segments after it`);
      }
      groups.set(group, { group, hardState, checkpoint, entries });
    }
    return groups;
  }

  #path(segment: number): string {
    return join(this.#source.directory, segmentName(segment));
  }
}

/**
 * Reads a segment into the bytes, which are as long as the file, and checks its header.
 * @throws StorageFailure when the file is damaged, or that of another store
 */
export function readHeader(file: DiskFile, bytes: Uint8Array, identity: WalIdentity): SegmentHeader {
  const { path } = file;
  const count = file.read(bytes, 0);
  if (count < bytes.length) throw missing(path, `${count} bytes where the file system says ${bytes.length}`);
  const header = decodeSegmentHeader(bytes);
  if (typeof header === 'string') throw corruption(path, 0, header);
  if (header.version !== FORMAT_VERSION) {
    throw foreign(path, `format version ${header.version}; this release reads version ${FORMAT_VERSION}`);
  }
  if (!isSameIdentity(header, identity)) throw foreign(path, 'the ids of another cluster or store');
  if (header.segmentBytes !== bytes.length) {
    throw missing(path, `${bytes.length} bytes of the ${header.segmentBytes} that it was made with`);
  }
  return header;
}

/** Reads the batches of a segment, and settles its end if it is the last one. Returns where the log ends now. */
export function readBatches(
  segment: { readonly file: DiskFile; readonly bytes: Uint8Array; readonly previous: LogEnd },
  context: SegmentContext,
  onBatch: (batch: ScannedBatch) => Damage | undefined,
): LogEnd {
  const { file, bytes, previous } = segment;
  let lastFrom = SECTOR_BYTES;
  const { last, end } = scanBatches(segmentBytes(bytes), { ...previous, offset: SECTOR_BYTES }, context, (batch) => {
    lastFrom = batch.offset;
    return onBatch(batch);
  });
  if (end.kind === 'corrupt') throw corruption(file.path, end.offset, end.found);
  const filled = filledEnd(viewOf(bytes), last.offset, bytes.length, context.number);
  if (context.isLast) settle(file, { from: lastFrom, end: last.offset, filled });
  return last;
}

/** W10: the last batch is written again, the bytes of a torn one after it become zero, and both are synced. */
function settle(
  file: DiskFile,
  { from, end, filled }: { readonly from: number; readonly end: number; readonly filled: number },
): void {
  const bytes = new Uint8Array(filled - from);
  file.read(bytes, from);
  bytes.fill(0, end - from);
  orUnwritten(file.path, () => {
    file.write(bytes, from);
    file.sync();
  });
}
