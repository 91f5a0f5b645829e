/**
 * The kv port on disk: rows in LevelDB through classic-level, histories in segment files beside its own (segments/).
 *
 * One directory is opened by several threads of one process at once (each by its own handle), and by one process only.
 * It adds checkpoints to LevelDB: LevelDB closes a full log file without syncing it, so that a later synced
 * batch may outlive an earlier one (see DESIGN.md, "Why no batch is synced in LevelDB").
 *
 * It verifies nothing that it reads: LevelDB checks its own checksums only when told to, by `verify_checksums` or
 * `paranoid_checks`, and the binding sets neither. So each value carries a checksum of its own, verified by the
 * owner of the value, and #database counts the rows.
 */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChainedBatch, ClassicLevel, type Iterator as LevelIterator } from 'classic-level';
import { assert, DatabaseError, type GroupId, ignoring } from '#base';
import {
  CHUNK_BYTES_DEFAULT,
  type HistoryAppend,
  type HistoryEnd,
  type HistoryReader,
  type KvBatch,
  type KvRange,
  type KvRangeOptions,
  type KvRow,
  type KvStore,
  STORE_DAMAGED,
} from '#kv';
import { patientlyAwait } from './basis/descriptors.ts';
import { type LevelStats, readLevelStats } from './level-stats.ts';
import { Histories, historiesIn } from './segments/histories.ts';
import { isMissing } from './segments/segment-disk.ts';

/** Sizes of the one LevelDB behind all handles of a directory: the first handle decides. Measured in DESIGN.md. */
export interface LevelStoreOptions {
  /**
   * Blocks kept in memory of tables that are compressed, or open beyond the first 1,000, which are mapped. With the
   * other defaults there are none: 64 tables are open, none compressed. Default 8 MiB.
   */
  readonly cacheBytes?: number;
  /** Rows gathered in memory before they become a table; up to two of these are held. Default 32 MiB. */
  readonly writeBufferBytes?: number;
  /**
   * Bytes of tables that are mapped into memory at a time, about: what reads make resident. Default, and least, 64 MiB;
   * the tables of LevelDB's first level come on top while rows are written.
   */
  readonly mappedBytes?: number;
  /**
   * Size of one table. Default: as `mappedBytes` allows 64 of them, 8 MiB and a quarter of the write buffer at most.
   */
  readonly maxFileBytes?: number;
  /** Compresses blocks with Snappy. Default false: the events mostly do not shrink enough to pay for it. */
  readonly compression?: boolean;
}

/** A `KvStore` that can say when its unsynced writes have become durable, and what its levels are like. */
export interface LevelStore extends KvStore {
  /**
   * When the promise resolves, every write that had resolved before the call is on stable storage. Do not delete the
   * sources of those writes earlier.
   */
  checkpointFiles(): Promise<void>;
  /** The levels of LevelDB that have tables; all handles of the directory share them. */
  levels(): readonly LevelStats[];
}

type Database = ClassicLevel<Uint8Array, Uint8Array>;
type DatabaseBatch = ChainedBatch<Database, Uint8Array, Uint8Array>;
type DatabaseIterator = LevelIterator<Database, Uint8Array, Uint8Array>;

const MEBIBYTE = 2 ** 20;
/** Errors by which LevelDB reports damaged files; the second form is for a table that is too short or missing. */
const DAMAGE = /Corruption: |\.(?:ldb|sst): (?:Invalid argument|No such file or directory)/;
/** LevelDB's refusals to open a store after it got the lock: the store exists, or does not, or has no directory. */
const UNLOCKED = /Invalid argument: |No such file or directory/;
const CACHE_BYTES_DEFAULT = 8 * MEBIBYTE;
const WRITE_BUFFER_BYTES_DEFAULT = 32 * MEBIBYTE;
const TABLE_BYTES_MIN = MEBIBYTE;
const TABLE_BYTES_MAX = 8 * MEBIBYTE;
/** LevelDB takes no more into one compaction of tables, and slows writers down at 8 tables as large as the buffer. */
const COMPACTED_TABLES_MAX = 25;
const COMPACTED_BUFFERS_MAX = 8;
/** One that fills and one that is being written out. */
const BUFFERS_MAX = 2;
/** Error code of the binding for a directory that another process has open. */
const LOCKED = 'LEVEL_LOCKED';
const MAPPED_BYTES_DEFAULT = 64 * MEBIBYTE;
/** LevelDB keeps no fewer tables open, each of them mapped. */
const OPEN_TABLES_MIN = 64;
/** LevelDB counts these in with the tables. */
const OTHER_OPEN_FILES = 10;
/** Up to so many bytes of rows may stay with a closed iterator until it is collected. */
const ROWS_LEFT_BYTES_MAX = 32 * 1024;
/** And with all of them: V8 is in no hurry, for it does not count what the binding holds. */
const ROWS_LEFT_BYTES_MAX_OF_ALL = 4 * MEBIBYTE;
/** Fewer bytes are not worth counting. */
const ROWS_LEFT_BYTES_MIN = 1024;
const NO_BYTES: Uint8Array = new Uint8Array(0);
const STATS = 'leveldb.stats';
/** LevelDB's write-ahead logs, such as 000123.log; not its diary, which is called LOG. */
const LOG_FILE = /^\d+\.log$/;

/** Opens the store in `directory`, which is made when it is missing. */
export async function openLevelStore(directory: string, options: LevelStoreOptions = {}): Promise<LevelStore> {
  const database: Database = new ClassicLevel(directory, {
    // The native form of this binding: neither keys nor values are wrapped or copied on their way.
    keyEncoding: 'view',
    valueEncoding: 'view',
    multithreading: true,
    cacheSize: options.cacheBytes ?? CACHE_BYTES_DEFAULT,
    writeBufferSize: writeBufferBytes(options),
    maxFileSize: tableBytes(options),
    maxOpenFiles: openTables(options) + OTHER_OPEN_FILES,
    compression: options.compression ?? false,
  });
  await wrapped(`The store in ${directory} could not be opened; it needs a directory of its own`, () =>
    database.open(),
  );
  return new LevelKv(database, directory);
}

/** Returns true when a store could not be opened because another process has it open. */
export function isLevelLocked(failure: unknown): boolean {
  for (let cause = failure; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === LOCKED) return true;
  }
  return false;
}

/**
 * Asks LevelDB for its lock, in a way in which it opens nothing: with `errorIfExists`, and never made when missing.
 * @throws DatabaseError when the lock cannot be tried, as when there are no descriptors left
 */
export async function isLevelStoreInUse(directory: string): Promise<boolean> {
  const probe = new ClassicLevel(directory, { createIfMissing: false, errorIfExists: true });
  try {
    await probe.open();
  } catch (failure) {
    if (isLevelLocked(failure)) return true;
    if (!UNLOCKED.test(reasonOf(failure))) throw failed(`The lock of the store in ${directory} is not known`, failure);
  }
  return false;
}

/** Disk that one compaction may take before it gives anything back, with what is written out meanwhile. */
export function compactionBytesMax(options: LevelStoreOptions = {}): number {
  const tables = COMPACTED_TABLES_MAX * tableBytes(options);
  return Math.max(tables, COMPACTED_BUFFERS_MAX * writeBufferBytes(options)) + BUFFERS_MAX * writeBufferBytes(options);
}

function writeBufferBytes(options: LevelStoreOptions): number {
  return options.writeBufferBytes ?? WRITE_BUFFER_BYTES_DEFAULT;
}

function mappedBytes(options: LevelStoreOptions): number {
  return options.mappedBytes ?? MAPPED_BYTES_DEFAULT;
}

function tableBytes(options: LevelStoreOptions): number {
  const share = Math.floor(Math.min(writeBufferBytes(options) / 4, mappedBytes(options) / OPEN_TABLES_MIN));
  return options.maxFileBytes ?? Math.min(Math.max(share, TABLE_BYTES_MIN), TABLE_BYTES_MAX);
}

function openTables(options: LevelStoreOptions): number {
  return Math.max(OPEN_TABLES_MIN, Math.floor(mappedBytes(options) / tableBytes(options)));
}

class LevelKv implements LevelStore {
  readonly #database: Database;
  readonly #directory: string;
  readonly #left = new RowsLeft();
  readonly #histories: Histories;
  #checkpoint: Promise<void> = Promise.resolve();

  constructor(database: Database, directory: string) {
    this.#database = database;
    this.#directory = directory;
    this.#histories = new Histories({ directory: historiesIn(directory) });
  }

  get history(): HistoryReader {
    return this.#histories.reader;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#database.getSync(key);
    } catch (cause) {
      throw this.#unreadable(cause);
    }
  }

  range(options: KvRangeOptions): KvRange {
    const { gte, lt, reverse, limit, values, chunkBytes, fillCache } = options;
    const native = {
      gte,
      lt,
      reverse: reverse ?? false,
      values: values ?? true,
      highWaterMarkBytes: chunkBytes ?? CHUNK_BYTES_DEFAULT,
      fillCache: fillCache ?? true,
      ...(limit === undefined ? {} : { limit }),
    };
    try {
      return new LevelRange(this.#database.iterator(native), { directory: this.#directory, end: lt, left: this.#left });
    } catch (cause) {
      throw this.#unreadable(cause);
    }
  }

  batch(): KvBatch {
    return new LevelBatch(this.#database.batch());
  }

  async write(batch: KvBatch): Promise<void> {
    assert(batch instanceof LevelBatch, 'A batch is written by the store that made it');
    const { native, appends } = batch.take();
    if (appends.size > 0) await this.#histories.append(appends);
    await wrapped(`Rows could not be written to the store in ${this.#directory}`, () => native.write());
  }

  async clear(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    await wrapped(`Rows of the store in ${this.#directory} could not be deleted`, () =>
      this.#database.clear({ gte, lt }),
    );
  }

  async approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number> {
    return wrapped(`The size of the store in ${this.#directory} is not known`, () =>
      this.#database.approximateSize(gte, lt),
    );
  }

  async compact(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    await wrapped(`The store in ${this.#directory} could not be compacted`, () => this.#database.compactRange(gte, lt));
  }

  cutHistory(group: GroupId, position: number, synced?: HistoryEnd): Promise<number> {
    return this.#histories.cut(group, position, synced);
  }

  historyEnd(group: GroupId): HistoryEnd {
    return this.#histories.end(group);
  }

  verifyHistory(group: GroupId, end: number, synced: number): Promise<void> {
    return this.#histories.verify(group, end, synced);
  }

  copyHistory(from: GroupId, to: GroupId): Promise<void> {
    return this.#histories.copy(from, to);
  }

  historySize(group: GroupId): Promise<number> {
    return this.#histories.size(group);
  }

  async checkpointFiles(): Promise<void> {
    // Histories that a checkpoint in progress covers are durable when that is done.
    const checkpoint = this.#checkpoint.catch(() => undefined).then(() => this.#syncFiles());
    this.#checkpoint = checkpoint;
    await checkpoint;
  }

  /** Histories before the rows that point into them. */
  async #syncFiles(): Promise<void> {
    await this.#histories.sync();
    await wrapped(`The store in ${this.#directory} could not be made durable`, async () => {
      const names = await patientlyAwait(() => readdir(this.#directory));
      // LevelDB deletes a log once its rows are in a table, which it has synced.
      for (const name of names.filter((each) => LOG_FILE.test(each)))
        await syncFile(join(this.#directory, name)).catch(ignoring(isMissing));
      await syncFile(this.#directory);
    });
  }

  levels(): readonly LevelStats[] {
    return readLevelStats(this.#database.getProperty(STATS));
  }

  async close(): Promise<void> {
    await this.#histories.close();
    await wrapped(`The store in ${this.#directory} could not be closed`, () => this.#database.close());
  }

  #unreadable(cause: unknown): DatabaseError {
    return failed(`Rows of the store in ${this.#directory} could not be read`, cause);
  }
}

class LevelBatch implements KvBatch {
  readonly #native: DatabaseBatch;
  readonly #appends = new Map<GroupId, HistoryAppend>();
  #taken = false;
  #byteLength = 0;

  constructor(native: DatabaseBatch) {
    this.#native = native;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  get count(): number {
    return this.#native.length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#native.put(key, value);
    this.#byteLength += key.length + value.length;
  }

  del(key: Uint8Array): void {
    this.#native.del(key);
    this.#byteLength += key.length;
  }

  append(group: GroupId, records: HistoryAppend): void {
    assert(!this.#appends.has(group), 'A batch has the records of a group once', group);
    this.#appends.set(group, records);
    this.#byteLength += records.bytes.length;
  }

  take(): { readonly native: DatabaseBatch; readonly appends: ReadonlyMap<GroupId, HistoryAppend> } {
    assert(!this.#taken, 'A batch is written once');
    this.#taken = true;
    return { native: this.#native, appends: this.#appends };
  }
}

/** Bytes of rows that closed iterators hold, as long as those are not collected. */
class RowsLeft {
  #bytes = 0;
  readonly #collected = new FinalizationRegistry<number>((bytes) => {
    this.#bytes -= bytes;
  });

  /** Returns true when so many more bytes may stay with the iterator, which is about to be closed. */
  mayStay(iterator: DatabaseIterator, bytes: number): boolean {
    if (bytes < ROWS_LEFT_BYTES_MIN) return true;
    if (bytes > ROWS_LEFT_BYTES_MAX || this.#bytes + bytes > ROWS_LEFT_BYTES_MAX_OF_ALL) return false;
    this.#bytes += bytes;
    this.#collected.register(iterator, bytes);
    return true;
  }
}

interface LevelRangePlace {
  readonly directory: string;
  readonly end: Uint8Array;
  /** Rows left for all ranges of the store. */
  readonly left: RowsLeft;
}

class LevelRange implements KvRange {
  readonly #iterator: DatabaseIterator;
  readonly #directory: string;
  readonly #end: Uint8Array;
  readonly #left: RowsLeft;
  /** Bytes of the rows that the last call of `next` gave. */
  #lastBytes = 0;

  constructor(iterator: DatabaseIterator, { directory, end, left }: LevelRangePlace) {
    this.#iterator = iterator;
    this.#directory = directory;
    this.#end = end;
    this.#left = left;
  }

  async next(count: number): Promise<readonly KvRow[]> {
    assert(count >= 1, 'A range is read by one row or more', count);
    const entries = await wrapped(`Rows of the store in ${this.#directory} could not be read`, () =>
      this.#iterator.nextv(count),
    );
    this.#lastBytes = entries.reduce((sum, [key, value]) => sum + key.length + (value?.length ?? 0), 0);
    return entries.map(([key, value]: readonly [Uint8Array, Uint8Array | undefined]) => ({
      key,
      value: value ?? NO_BYTES,
    }));
  }

  async close(): Promise<void> {
    if (!this.#left.mayStay(this.#iterator, this.#lastBytes)) await this.#letRowsGo();
    await this.#iterator.close();
  }

  /** The binding keeps its own copy of the last rows until there are others: after the end there are none. */
  async #letRowsGo(): Promise<void> {
    this.#lastBytes = 0;
    await wrapped(`A range of the store in ${this.#directory} could not be closed`, async () => {
      this.#iterator.seek(this.#end);
      await this.#iterator.nextv(1);
    });
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await patientlyAwait(() => open(path, 'r'));
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function wrapped<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    throw failed(what, cause);
  }
}

function failed(what: string, cause: unknown): DatabaseError {
  const reason = reasonOf(cause);
  const details = DAMAGE.test(reason) ? { reason: STORE_DAMAGED } : {};
  return new DatabaseError('internal', `${what}: ${reason}`, { cause, details });
}

/** Returns true when LevelDB has reported that its files are damaged. */
export function isStoreDamage(failure: unknown): failure is DatabaseError {
  return failure instanceof DatabaseError && failure.details.reason === STORE_DAMAGED;
}

/** abstract-level says in `cause` what LevelDB said. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
