/**
 * Looks through the tables of an open store, slice by slice: those that it has not seen yet first, and then all of them
 * again, round after round.
 *
 * It reads through the page cache, as LevelDB does, so what it finds damaged is what LevelDB would have read. What it
 * cannot find is damage that LevelDB has already copied into a new table: a compaction verifies nothing that it reads
 * and gives what it writes a checksum of its own. Hence the first look at every table soon after the start.
 *
 * It has neither timer nor thread: scrub-worker.ts gives it both.
 */
import { join } from 'node:path';
import { type LevelManifest, type LiveTable, ManifestReader, missingTable, tableName } from './level-manifest.ts';
import { type BlockHandle, LevelTable } from './level-table.ts';

/** What one step reads at most, unless a single block is larger. */
const SLICE_BYTES = 256 * 1024;

export interface ScrubStep {
  /** Bytes that were read. */
  readonly bytes: number;
  /** Whether they are of a table that was not looked through before. */
  readonly isFirstLook: boolean;
}

interface OpenTable {
  readonly table: LevelTable;
  readonly live: LiveTable;
  readonly isFirstLook: boolean;
  /** How many of its blocks are verified. */
  done: number;
}

export class TableScrub {
  readonly #directory: string;
  readonly #reader: ManifestReader;
  readonly #seen = new Set<number>();
  #manifest: LevelManifest | undefined;
  #round: LiveTable[] = [];
  #open: OpenTable | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.#reader = new ManifestReader(directory);
  }

  get #live(): readonly LiveTable[] {
    return this.#manifest?.tables ?? [];
  }

  /** From here on every live table is looked through again, after those that are new. */
  beginRound(): void {
    this.#round = [...this.#live];
  }

  /** Learns of tables that have come and gone since the last call. */
  refresh(): void {
    const before = this.#manifest;
    this.#manifest = this.#reader.readOn();
    if (this.#manifest === before) return;
    const numbers = new Set(this.#live.map(({ number }) => number));
    for (const number of this.#seen) if (!numbers.has(number)) this.#seen.delete(number);
  }

  /**
   * Verifies the next slice; undefined when nothing is left to do.
   * @throws StorageFailure `corrupt` at damage; a system error when a file cannot be opened, and then it may be tried
   * again.
   */
  step(): ScrubStep | undefined {
    this.#open ??= this.#next();
    const open = this.#open;
    if (open === undefined) return undefined;
    const { table, isFirstLook } = open;
    const slice = sliceOf(table.rowBlocks, open.done);
    table.verify(slice);
    open.done += slice.length;
    if (open.done === table.rowBlocks.length) this.#finish(open);
    return { bytes: slice.reduce((sum, { length }) => sum + length, 0), isFirstLook };
  }

  close(): void {
    this.#open?.table.close();
    this.#open = undefined;
  }

  #next(): OpenTable | undefined {
    for (;;) {
      const fresh = this.#live.find(({ number }) => !this.#seen.has(number));
      const live = fresh ?? this.#round[0];
      if (live === undefined) return undefined;
      const table = this.#tryOpen(live);
      if (fresh === undefined) this.#round.shift();
      if (table !== undefined) return { table, live, isFirstLook: fresh !== undefined, done: 0 };
    }
  }

  /** Undefined when the table is not live any more: LevelDB deletes it only after the MANIFEST has said so. */
  #tryOpen({ number, bytes }: LiveTable): LevelTable | undefined {
    const path = join(this.#directory, tableName(number));
    try {
      return LevelTable.open(path, bytes);
    } catch (failure) {
      if (!(failure instanceof Error && 'code' in failure && failure.code === 'ENOENT')) throw failure;
      this.refresh();
      if (this.#live.some((each) => each.number === number))
        throw missingTable(path, this.#manifest?.path ?? this.#directory);
      return undefined;
    }
  }

  #finish({ live }: OpenTable): void {
    this.close();
    this.#seen.add(live.number);
  }
}

/** The blocks from `from` on that fill a slice: one at least. */
function sliceOf(blocks: readonly BlockHandle[], from: number): readonly BlockHandle[] {
  const start = blocks[from]?.offset ?? 0;
  let to = from + 1;
  while (to < blocks.length && (blocks[to]?.offset ?? 0) - start < SLICE_BYTES) to++;
  return blocks.slice(from, to);
}
