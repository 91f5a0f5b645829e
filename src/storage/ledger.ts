/**
 * The ledger: the few rows of a node that cannot be derived from anything else, in memory and in one file.
 *
 * The file is a segment of the write-ahead log (wal-format.ts, docs/formats/ledger.md): its summary has all rows as of
 * the time when the file was made, and each later batch has changes. So the code of the log tells a torn batch from
 * damage here, too. A batch that does not fit any more is written with all rows into a new file, which replaces the old
 * file.
 *
 *   LG1  `write` resolves when its changes are on stable storage. After a failure every later call rejects with it.
 *   LG2  Opening finds every acknowledged change, and those of an interrupted write completely or not at all; otherwise
 *        it fails. What it finds is on stable storage.
 */
import { join } from 'node:path';
import { compareBytes, toHex } from '#base';
import type { KvRow } from '#kv';
import { orUnwrittenLater } from './basis/storage-failure.ts';
import { type SealedBatch, sealRecords } from './batch-slab.ts';
import { type Disk, type DiskFile, patientDisk } from './disk.ts';
import { decodeRow, RecordWriter, type RowChange, recordEnd } from './log-records.ts';
import { nodeSegmentDisk } from './segments/segment-disk.ts';
import { BATCH_BYTES_MAX, encodeSegmentHeader, ID_BYTES, type LogEnd, SECTOR_BYTES } from './wal-format.ts';
import { readBatches, readHeader } from './wal-recovery.ts';
import { type BatchRecords, type Damage, offsetOf } from './wal-scanner.ts';

const NAME = 'ledger';
const NEXT = 'ledger.next';
const SPARE_BYTES_DEFAULT = 2 ** 20;
/** The ids of the store are in the first row. */
const NO_IDS = { clusterId: new Uint8Array(ID_BYTES), storeId: new Uint8Array(ID_BYTES) };
const NOTHING: LogEnd = { seq: 0, crc: 0, offset: 0 };
/** Number of the one segment. */
const SEGMENT = 1;
/** A new file is synced before it has its name, so only its later batches may be torn. */
const CONTEXT = { isLast: true, syncedThrough: 0, firstSeq: 1, number: SEGMENT };

export interface LedgerOptions {
  readonly disk?: LedgerDisk;
  /** Bytes of a new file beyond twice its rows. Default: 1 MiB. */
  readonly spareBytes?: number;
}

/** The sync of the directory does not block the thread. */
export interface LedgerDisk extends Pick<Disk, 'list' | 'open' | 'rename' | 'remove'> {
  syncDirectory(path: string): void | Promise<void>;
}

const NODE_DISK: LedgerDisk = { ...patientDisk, syncDirectory: (path) => nodeSegmentDisk.syncDirectory(path) };

interface LedgerFile {
  readonly file: DiskFile;
  readonly bytes: number;
  readonly end: LogEnd;
}

export class Ledger {
  readonly #directory: string;
  readonly #disk: LedgerDisk;
  readonly #spareBytes: number;
  /** Rows by key in hexadecimal, including the changes that are being written. */
  readonly #rows = new Map<string, KvRow>();
  /** Absent before the first write. */
  #file: LedgerFile | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** Opens the ledger in the directory; a missing file is an empty ledger. @throws StorageFailure for a damaged one. */
  static async open(directory: string, options: LedgerOptions = {}): Promise<Ledger> {
    const ledger = new Ledger(directory, options);
    await orUnwrittenLater(ledgerIn(directory), ledger.#settleNames());
    ledger.#read();
    return ledger;
  }

  private constructor(directory: string, { disk = NODE_DISK, spareBytes = SPARE_BYTES_DEFAULT }: LedgerOptions) {
    this.#directory = directory;
    this.#disk = disk;
    this.#spareBytes = spareBytes;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#rows.get(toHex(key))?.value;
  }

  /** The rows with `gte <= key < lt`, in the order of their keys. */
  rows({ gte, lt }: { readonly gte: Uint8Array; readonly lt: Uint8Array }): readonly KvRow[] {
    return [...this.#rows.values()]
      .filter(({ key }) => compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0)
      .toSorted((one, other) => compareBytes(one.key, other.key));
  }

  /** The arrays must not change any more. */
  async write(changes: readonly RowChange[]): Promise<void> {
    this.#writing = this.#writing.then(() => orUnwrittenLater(ledgerIn(this.#directory), this.#append(changes)));
    await this.#writing;
  }

  close(): void {
    this.#file?.file.close();
  }

  /** A draft is removed. The file may have got its name just before the last process ended. */
  async #settleNames(): Promise<void> {
    if (this.#disk.list(this.#directory).includes(NEXT)) this.#disk.remove(join(this.#directory, NEXT));
    await this.#disk.syncDirectory(this.#directory);
  }

  #read(): void {
    if (!this.#disk.list(this.#directory).includes(NAME)) return;
    const file = this.#disk.open(ledgerIn(this.#directory), 'existing');
    const bytes = new Uint8Array(file.size());
    const { previous } = readHeader(file, bytes, NO_IDS);
    const end = readBatches({ file, bytes, previous }, CONTEXT, ({ records }) => this.#take(records));
    this.#file = { file, bytes: bytes.length, end };
  }

  #take(records: BatchRecords): Damage | undefined {
    const { bytes, view, from, to } = records;
    for (let at = from; at < to; at = recordEnd(view, at)) {
      const change = decodeRow(bytes, view, at);
      if (change === undefined) return { offset: offsetOf(records, at), found: 'a record that is no row' };
      this.#change(change);
    }
    return undefined;
  }

  #change({ key, value }: RowChange): void {
    if (value === undefined) this.#rows.delete(toHex(key));
    else this.#rows.set(toHex(key), { key, value });
  }

  async #append(changes: readonly RowChange[]): Promise<void> {
    for (const change of changes) this.#change(change);
    if (this.#file === undefined) return this.#replace();
    const { file, bytes, end } = this.#file;
    const batch = sealed(changes, end);
    if (batch.bytes.length > Math.min(BATCH_BYTES_MAX, bytes - end.offset)) return this.#replace();
    await file.writeThrough(batch.bytes, end.offset);
    this.#file = { file, bytes, end: endOf(batch, end.offset) };
  }

  /** Replaces the file by a new one with all rows. */
  async #replace(): Promise<void> {
    const summary = sealed(this.#rows.values(), NOTHING);
    const sectors = Math.ceil((2 * summary.bytes.length + this.#spareBytes) / SECTOR_BYTES);
    const bytes = new Uint8Array((1 + sectors) * SECTOR_BYTES);
    bytes.set(encodeSegmentHeader({ ...NO_IDS, number: SEGMENT, segmentBytes: bytes.length, previous: NOTHING }));
    bytes.set(summary.bytes, SECTOR_BYTES);
    const draft = this.#disk.open(join(this.#directory, NEXT), 'create');
    await draft.writeThrough(bytes, 0);
    draft.close();
    const path = ledgerIn(this.#directory);
    this.#disk.rename(draft.path, path);
    await this.#disk.syncDirectory(this.#directory);
    this.#file?.file.close();
    const file = this.#disk.open(path, 'existing');
    this.#file = { file, bytes: bytes.length, end: endOf(summary, SECTOR_BYTES) };
  }
}

/** The file of the ledger in a data directory. */
export function ledgerIn(directory: string): string {
  return join(directory, NAME);
}

function sealed(changes: Iterable<RowChange>, last: LogEnd): SealedBatch {
  const writer = new RecordWriter();
  for (const change of changes) writer.row(change);
  return sealRecords(writer.take(), last, SEGMENT);
}

function endOf({ seq, crc, bytes }: SealedBatch, at: number): LogEnd {
  return { seq, crc, offset: at + bytes.length };
}
