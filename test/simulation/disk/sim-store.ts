// The simulated store of one node: the rows of LevelDB, the segments of histories, and their faults. The ledger is on
// the disk of the log (sim-ledger.ts).
//
//   - Histories are written by the production code to a simulated disk. A power failure loses any sectors and names
//     that were not synced, whatever happens to the rows of the same batch.
//   - A batch is atomic. Once acknowledged, it survives the process, synced or not.
//   - A power failure loses any subset of the unsynced batches, not only the last ones: LevelDB closes a full log
//     file without a sync, so a batch in the next file may survive an earlier lost one.
//   - A failed write may be present after the next start; until then all later writes fail, too.
//   - A bit flip in a table changes a value without an error, one in a segment also.
//   - A truncated log has silently lost its last writes, synced or not.
//
// Writes are sequential with random delays, and become visible shortly before their acknowledgement. The store outlives
// the process of its node; each thread has its own handle, which waits in that thread.
import { assert, DatabaseError, type GroupId } from '#base';
import type { HistoryReader, KvBatch, KvRange, KvRow, KvStore } from '#kv';
import { TABLE, tableOfKey } from '../../../src/database/keys.ts';
import { Histories } from '../../../src/storage/segments/histories.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { MemorySegmentDisk } from '../../support/memory-segment-disk.ts';
import { type Operation, RecordedBatch, replay } from '../../support/recorded-batch.ts';
import { simulated } from '../../support/segment-histories.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';

interface Write {
  readonly operations: readonly Operation[];
  readonly isDurable: boolean;
}

interface Whole {
  readonly visible: ReturnType<typeof memoryKv>;
  readonly writes: readonly Write[];
  readonly disk: MemorySegmentDisk;
  readonly restoreLedger: () => void;
}

interface Flip {
  readonly key: Uint8Array;
  readonly found: Uint8Array;
  readonly truth: Uint8Array;
  /** Position in the row. */
  readonly at: number;
}

const WRITE_US_MEAN = 120;
const READ_US_MEAN = 60;
const SYNC_US_MEAN = 600;
const CLEAR_ROWS = 100;
/** Bytes on both sides of a flipped one, by which the flip is found again in a rewritten row. */
const AROUND = 8;

export class SimStore {
  #visible = memoryKv();
  #disk = new MemorySegmentDisk();
  /** Histories as the process that runs has them open. */
  #histories = this.#openHistories();
  /** The rows at the last power failure or silent fault; the writes since then are not included. */
  readonly #durable = memoryKv();
  /** Writes since then, in order. */
  #writes: Write[] = [];
  /** Number of writes before those, and of writes that a sync of the files has covered, counted from the start. */
  #movedCount = 0;
  #syncedCount = 0;
  #flips: readonly Flip[] = [];
  /** Content before the log was truncated, until a process serves with the rest. */
  #whole: Whole | undefined;
  /** True when rows were lost or cleared, and no process has served since. */
  #hasLostRows = false;
  readonly #random: Rng;
  readonly #seen: (bytes: Uint8Array) => void;
  #freeUs = 0;
  slowness = 1;
  /** True when there is room for a write. */
  hasRoom: () => boolean = () => true;
  #failAfter: number | undefined;
  #strike: { left: number; readonly strike: () => void } | undefined;
  #isBroken = false;
  readonly #thrown = new WeakSet<object>();
  byteLength = 0;

  /** `seen` receives every write, in the order in which they become visible. */
  constructor(random: Rng, seen: (bytes: Uint8Array) => void = () => undefined) {
    this.#random = random;
    this.#seen = seen;
  }

  /** A store with the visible rows and histories of this one, durably. */
  async copy(random: Rng): Promise<SimStore> {
    const copy = new SimStore(random, this.#seen);
    const rows = await rowsOf(this.#visible);
    for (const store of [copy.#visible, copy.#durable]) {
      put(
        store,
        rows.map((row) => ({ kind: 'put', ...row })),
      );
    }
    copy.#useDisk(this.#disk.snapshot());
    copy.byteLength = this.byteLength;
    return copy;
  }

  get disk(): MemorySegmentDisk {
    return this.#disk;
  }

  /** Databases without an applied row, because their rows are being rebuilt. */
  readonly withdrawn: Set<GroupId> = new Set<GroupId>();
  /** Databases with damage that an earlier process has noted. */
  readonly noted: Set<GroupId> = new Set<GroupId>();

  get isDamaged(): boolean {
    return this.isRotten || this.isCut || this.spoiledFiles.length > 0;
  }

  /** Segments in which bits differ from the written ones. */
  get spoiledFiles(): readonly string[] {
    return this.#disk.damagedFiles;
  }

  /** True when rows differ from the written ones or are missing, so that a process may make them again. */
  get lacksRows(): boolean {
    return this.isDamaged || this.#hasLostRows;
  }

  /** True when a row differs from the written one. */
  get isRotten(): boolean {
    return this.#flips.length > 0;
  }

  /** True when the last writes were lost and no process has served since. */
  get isCut(): boolean {
    return this.#whole !== undefined;
  }

  /** True when a write has failed with this error. */
  hasThrown(error: unknown): boolean {
    return error instanceof Error && this.#thrown.has(error);
  }

  /** Makes a write fail after `writes` more writes. */
  failAfter(writes: number | undefined): void {
    this.#failAfter = writes;
  }

  /** Calls `strike` after `writes` more writes, of this process or the next; undefined: never. */
  strikeAfter(writes: number, strike: (() => void) | undefined): void {
    this.#strike = strike && { left: writes, strike };
  }

  /** Called when a process serves: the lost writes have been replaced, and the backup is dropped. */
  serves(): void {
    this.#whole = undefined;
    this.#hasLostRows = false;
  }

  /** Called when a process has ended; the next one reopens the store. */
  endProcess(): void {
    this.#isBroken = false;
    this.#failAfter = undefined;
    this.#freeUs = 0;
    this.#useDisk(this.#disk);
  }

  /** Simulates a power failure: each unsynced batch, sector and name survives with this probability. */
  async losePower(share: number): Promise<void> {
    const survives = (): boolean => this.#random.chance(share);
    this.#useDisk(this.#disk.afterPowerLoss({ sector: survives, name: survives }));
    this.#persist();
    for (const { operations, isDurable } of this.#writes) {
      if (isDurable || this.#random.chance(share)) put(this.#durable, operations);
    }
    this.#movedCount += this.#writes.length;
    this.#writes = [];
    this.#visible = memoryKv();
    await this.#showDurable();
  }

  async #showDurable(): Promise<void> {
    const rows = await rowsOf(this.#durable);
    put(
      this.#visible,
      rows.map((row) => ({ kind: 'put', ...row })),
    );
  }

  /**
   * Loses the last writes; returns their number. No process must have the store open. A backup of the store includes
   * the ledger of this moment.
   */
  async cut(writes: number, restoreLedger: () => void): Promise<number> {
    const kept = this.#writes.slice(0, Math.max(0, this.#writes.length - writes));
    const lost = this.#writes.length - kept.length;
    if (lost === 0) return 0;
    const disk = this.#disk.snapshot();
    this.#whole ??= { visible: this.#visible, writes: this.#writes, disk, restoreLedger };
    this.#writes = kept;
    this.#syncedCount = Math.min(this.#syncedCount, this.#movedCount + kept.length);
    this.#visible = memoryKv();
    await this.#showDurable();
    for (const { operations } of kept) put(this.#visible, operations);
    return lost;
  }

  /** Durably loses the applied rows, or all rows, of databases; returns their groups. No process has the store open. */
  async loseRows({ isAll, databases }: { isAll: boolean; databases: 'one' | number }): Promise<readonly number[]> {
    const keys = (await rowsOf(this.#visible)).map(({ key }) => key).filter((key) => key[0] === 1);
    const all = [...new Set(keys.map((key) => Buffer.from(key).readUInt32BE(1)))].filter((group) => group > 0);
    const one = this.#random.pickFrom(all);
    const lost = all.filter((group) => (databases === 'one' ? group === one : this.#random.chance(databases)));
    await this.#loseRowsOf(new Set(lost), isAll);
    return lost;
  }

  async #loseRowsOf(lost: ReadonlySet<number>, isAll: boolean): Promise<void> {
    for (const { key } of await rowsOf(this.#visible)) {
      const isOfDatabase = key[0] === 1 && lost.has(Buffer.from(key).readUInt32BE(1));
      if (isOfDatabase && (isAll || tableOfKey(key) === TABLE.APPLIED)) this.#apply([{ kind: 'del', key }], true);
    }
    this.#hasLostRows ||= lost.size > 0;
  }

  /**
   * Loses the rows of a database, and flips a bit in one of its segments; undefined when there is no segment. The store
   * must not be open.
   */
  async spoilHistory(): Promise<string | undefined> {
    const path = this.#random.pickFrom(this.#disk.files);
    const size = path === undefined ? 0 : this.#disk.file(path).length;
    if (path === undefined || size === 0) return undefined;
    const group = Number.parseInt(path.split('/').at(-2) ?? '', 16);
    await this.#loseRowsOf(new Set([group]), true);
    const at = this.#random.between(0, size - 1);
    this.#disk.flip(path, at, 1 << this.#random.between(0, 7));
    return `${path} at ${at}`;
  }

  /** Flips a bit in the value of a random row; undefined when there is no row. */
  async flip(): Promise<string | undefined> {
    const rows = await rowsOf(this.#visible);
    const row = this.#random.pickFrom(rows.filter(({ value }) => value.length > 0));
    if (row === undefined) return undefined;
    const found = row.value.slice();
    const at = this.#random.between(0, found.length - 1);
    found[at] = (found[at] ?? 0) ^ (1 << this.#random.between(0, 7));
    this.#replace(row.key, (value) => (Buffer.compare(value, row.value) === 0 ? found : undefined));
    this.#flips = [...this.#flips, { key: row.key, found, truth: row.value, at }];
    return `row ${Buffer.from(row.key).toString('hex')} at ${at}`;
  }

  /** Restores damaged rows from a backup, including rows that were rewritten with the damage. */
  restore(): void {
    this.#restoreCut();
    this.#disk.restore();
    for (const flip of this.#flips) {
      const right = (value: Uint8Array): Uint8Array | undefined => mended(value, flip);
      this.#replace(flip.key, right);
      this.#writes = this.#writes.map((write) => mendedWrite(write, flip.key, right));
    }
    this.#flips = [];
  }

  /** Restores the previous content durably. */
  #restoreCut(): void {
    const whole = this.#whole;
    if (whole === undefined) return;
    this.#whole = undefined;
    this.#visible = whole.visible;
    this.#useDisk(whole.disk);
    whole.restoreLedger();
    for (const { operations } of whole.writes) put(this.#durable, operations);
    this.#writes = [];
    this.#movedCount = Math.max(this.#movedCount, this.#syncedCount);
  }

  /** Opens the store in one thread of a process. */
  openIn(isolate: Isolate): KvStore & { readonly checkpointFiles: () => Promise<void> } {
    return {
      history: this.#historyIn(isolate),
      // Returns a copy for each caller, like LevelDB's binding.
      get: (key) => this.#visible.get(key)?.slice(),
      range: (options) => new SlowRange(this.#visible.range(options), isolate, () => this.#drawUs(READ_US_MEAN)),
      batch: () => new RecordedBatch(),
      write: (batch) => this.#write(isolate, batch),
      clear: (gte, lt) => this.#clear(isolate, gte, lt),
      approximateSize: () => Promise.resolve(0),
      compact: () => Promise.resolve(),
      cutHistory: async (group, position, synced) => {
        await isolate.sleep(this.#drawUs(SYNC_US_MEAN), 'history cut');
        return this.#histories.cut(group, position, synced);
      },
      historyEnd: (group) => this.#histories.end(group),
      verifyHistory: (group, end, synced) => this.#histories.verify(group, end, synced),
      copyHistory: async (from, to) => {
        await isolate.sleep(this.#drawUs(SYNC_US_MEAN), 'history copy');
        await this.#histories.copy(from, to);
      },
      historySize: (group) => this.#histories.size(group),
      close: () => Promise.resolve(),
      checkpointFiles: () => this.#syncFiles(isolate),
    };
  }

  /** Reads of several ranges wait for the disk from time to time. */
  #historyIn(isolate: Isolate): HistoryReader {
    return {
      read: (group, range, memory) => this.#histories.reader.read(group, range, memory),
      readAll: (group, ranges, memory) => {
        const read = () => this.#histories.reader.readAll(group, ranges, memory);
        if (this.#random.chance(0.5)) return read();
        return isolate.sleep(this.#drawUs(READ_US_MEAN), 'history read').then(read);
      },
    };
  }

  async #write(isolate: Isolate, batch: KvBatch): Promise<void> {
    assert(batch instanceof RecordedBatch, 'A batch is written by the store that made it');
    this.#freeUs = Math.max(this.#freeUs, isolate.nowUs) + this.#drawUs(WRITE_US_MEAN);
    await isolate.sleep(this.#freeUs - isolate.nowUs, 'store write');
    await this.#append(isolate, batch);
    this.#failWhenDue(batch.operations);
    this.#apply(batch.operations);
    await isolate.sleep(this.#random.between(1, 100), 'store written');
  }

  /** The process may end between the records and the rows of a batch. */
  async #append(isolate: Isolate, { appends }: RecordedBatch): Promise<void> {
    if (appends.size === 0) return;
    for (const { bytes } of appends.values()) {
      this.#seen(bytes);
      this.byteLength += bytes.length;
    }
    await this.#histories.append(appends);
    await isolate.sleep(this.#random.between(1, 50), 'history written');
  }

  #apply(operations: readonly Operation[], isDurable = false): void {
    put(this.#visible, operations);
    this.#writes.push({ operations, isDurable });
    for (const operation of operations) {
      this.#seen(operation.key);
      if (operation.kind === 'del') continue;
      this.#seen(operation.value);
      this.byteLength += operation.value.length;
    }
    this.#countDown();
  }

  #countDown(): void {
    const due = this.#strike;
    if (due === undefined) return;
    due.left -= 1;
    if (due.left >= 0) return;
    this.#strike = undefined;
    due.strike();
  }

  /** A failed write may be present after the next start. */
  #failWhenDue(operations: readonly Operation[]): void {
    const isFull = !this.hasRoom();
    const isDue = this.#failAfter === 0;
    if (this.#failAfter !== undefined) this.#failAfter -= 1;
    if (!isDue && !isFull && !this.#isBroken) return;
    if (!this.#isBroken && this.#random.chance(0.5)) this.#apply(operations, false);
    this.#isBroken = true;
    const message = 'The write failed, and all later ones will';
    const error = new DatabaseError('internal', message, { details: { reason: 'StoreFailed' } });
    this.#thrown.add(error);
    throw error;
  }

  async #clear(isolate: Isolate, gte: Uint8Array, lt: Uint8Array): Promise<void> {
    // Rows are being made again, and the process may end before they are.
    this.#hasLostRows = true;
    const range = this.#visible.range({ gte, lt, values: false });
    for (let rows = await range.next(CLEAR_ROWS); rows.length > 0; rows = await range.next(CLEAR_ROWS)) {
      const batch = new RecordedBatch();
      for (const { key } of rows) batch.del(key);
      await this.#write(isolate, batch);
    }
    await range.close();
  }

  #useDisk(disk: MemorySegmentDisk): void {
    this.#disk = disk;
    this.#histories = this.#openHistories();
  }

  #openHistories(): Histories {
    return new Histories(simulated(this.#disk));
  }

  /** Everything acknowledged before the call is durable after it: the histories, then the rows. */
  async #syncFiles(isolate: Isolate): Promise<void> {
    await isolate.sleep(this.#drawUs(SYNC_US_MEAN), 'history sync');
    await this.#histories.sync();
    const covered = this.#movedCount + this.#writes.length;
    await isolate.sleep(this.#drawUs(SYNC_US_MEAN), 'store sync');
    this.#syncedCount = Math.max(this.#syncedCount, covered);
  }

  /** Moves durable writes into the durable rows. */
  #persist(): void {
    const synced = this.#writes.splice(0, Math.max(0, this.#syncedCount - this.#movedCount));
    for (const { operations } of synced) put(this.#durable, operations);
    this.#movedCount += synced.length;
  }

  #replace(key: Uint8Array, change: (value: Uint8Array) => Uint8Array | undefined): void {
    this.#persist();
    for (const store of [this.#visible, this.#durable]) {
      const now = store.get(key);
      const value = now && change(now);
      if (value !== undefined) put(store, [{ kind: 'put', key, value }]);
    }
  }

  #drawUs(mean: number): number {
    return this.#random.exponential(mean) * this.slowness;
  }
}

/** The row with the bit restored; undefined when the row has another content by now. */
function mended(value: Uint8Array, { found, truth, at }: Flip): Uint8Array | undefined {
  const [from, to] = [Math.max(0, at - AROUND), at + AROUND + 1];
  if (Buffer.compare(value.subarray(from, to), found.subarray(from, to)) !== 0) return undefined;
  const copy = value.slice();
  copy[at] = truth[at] ?? 0;
  return copy;
}

function mendedWrite(write: Write, key: Uint8Array, right: (value: Uint8Array) => Uint8Array | undefined): Write {
  const operations = write.operations.map((operation): Operation => {
    if (operation.kind === 'del' || Buffer.compare(operation.key, key) !== 0) return operation;
    return { ...operation, value: right(operation.value) ?? operation.value };
  });
  return { ...write, operations };
}

/** A range whose reads wait for the disk from time to time. */
class SlowRange implements KvRange {
  readonly #range: KvRange;
  readonly #isolate: Isolate;
  readonly #drawUs: () => number;

  constructor(range: KvRange, isolate: Isolate, drawUs: () => number) {
    this.#range = range;
    this.#isolate = isolate;
    this.#drawUs = drawUs;
  }

  async next(count: number): Promise<readonly KvRow[]> {
    await this.#isolate.sleep(this.#drawUs(), 'store read');
    return this.#range.next(count);
  }

  close(): Promise<void> {
    return this.#range.close();
  }
}

/** The store in memory applies a batch synchronously, so the promise can be ignored. */
function put(store: KvStore, operations: readonly Operation[]): void {
  void replay(store, operations);
}

async function rowsOf(store: KvStore): Promise<readonly KvRow[]> {
  const range = store.range({ gte: new Uint8Array(0), lt: new Uint8Array(64).fill(0xff) });
  const rows: KvRow[] = [];
  for (let some = await range.next(1000); some.length > 0; some = await range.next(1000)) rows.push(...some);
  await range.close();
  return rows;
}
