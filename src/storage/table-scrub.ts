/**
 * Looks through the tables of an open store, slice by slice: those that nobody has seen yet first, and then all of them
 * again, round after round.
 *
 * It reads through the page cache, as LevelDB does, so what it finds damaged is what LevelDB would have read. What a
 * compaction took before it was seen is looked through all the same, and before all else (unseen-tables.ts); of rot
 * that comes between two looks it cannot know when a compaction is quicker.
 *
 * It has neither timer nor thread: scrub-worker.ts gives it both.
 */
import { join } from 'node:path';
import { mergedAway } from './basis/storage-failure.ts';
import { type LevelManifest, type LiveTable, ManifestReader, missingTable, tableName } from './level-manifest.ts';
import { LevelTable } from './level-table.ts';
import { heldTables, openHeld, releaseTable } from './unseen-tables.ts';

/**
 * Why a table is looked through: a compaction took it before it was seen, so that it is the last look, and takes space;
 * it was not seen before; or it is its turn again.
 */
export type Look = 'late' | 'first' | 'again';

/** Number of levels of LevelDB. */
const LEVELS = 7;

export interface ScrubStep {
  /** Bytes that were read. */
  readonly bytes: number;
  readonly look: Look;
}

interface OpenTable {
  readonly number: number;
  readonly look: Look;
  readonly table: LevelTable;
  readonly slices: Generator<number, void>;
}

export class TableScrub {
  readonly #directory: string;
  readonly #reader: ManifestReader;
  readonly #seen: Set<number>;
  /** Live at the start, and not seen yet: they have a second name. */
  readonly #held: Set<number>;
  #manifest: LevelManifest | undefined;
  #late: number[] = [];
  #fresh: LiveTable[] = [];
  #round: LiveTable[] = [];
  #open: OpenTable | undefined;

  /** @param seen Tables that were verified before the store was opened. */
  constructor(directory: string, seen: readonly number[] = []) {
    this.#directory = directory;
    this.#reader = new ManifestReader(directory);
    this.#seen = new Set(seen);
    this.#held = new Set(heldTables(directory).numbers);
  }

  /** Whether there are still tables with a second name. */
  get isBehind(): boolean {
    return this.#held.size > 0;
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
    this.#late = [...this.#held].filter((number) => !numbers.has(number) && number !== this.#open?.number);
    // A node that takes many writes makes tables faster than they are read here: they come after the old ones.
    const rank = ({ number, level }: LiveTable): number => (this.#held.has(number) ? level - LEVELS : level);
    const isNew = ({ number }: LiveTable): boolean => !this.#seen.has(number) && number !== this.#open?.number;
    this.#fresh = this.#live.filter(isNew).toSorted((a, b) => rank(a) - rank(b));
  }

  /**
   * Verifies the next slice; undefined when nothing is left to do.
   * @throws StorageFailure `corrupt` at damage; a system error when a file cannot be opened, and then it may be tried
   * again.
   */
  step(): ScrubStep | undefined {
    for (;;) {
      this.#open ??= this.#next();
      if (this.#open === undefined) return undefined;
      const bytes = verifySlice(this.#open);
      if (bytes !== undefined) return { bytes, look: this.#open.look };
      this.#finish(this.#open);
    }
  }

  close(): void {
    this.#open?.table.close();
    this.#open = undefined;
  }

  get #live(): readonly LiveTable[] {
    return this.#manifest?.tables ?? [];
  }

  #next(): OpenTable | undefined {
    for (;;) {
      const [late] = this.#late;
      if (late !== undefined) return opened(late, 'late', openHeld(this.#directory, late));
      const isNew = this.#fresh.length > 0;
      const queue = isNew ? this.#fresh : this.#round;
      const [live] = queue;
      if (live === undefined) return undefined;
      const table = this.#tryOpen(live);
      // Where one is gone there is another manifest, and another queue of what is new.
      if (table !== undefined || !isNew) queue.shift();
      if (table !== undefined) return opened(live.number, isNew ? 'first' : 'again', table);
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

  #finish({ number }: OpenTable): void {
    this.close();
    this.#seen.add(number);
    if (!this.#held.delete(number)) return;
    releaseTable(this.#directory, number);
    this.#late = this.#late.filter((each) => each !== number);
  }
}

function opened(number: number, look: Look, table: LevelTable): OpenTable {
  return { number, look, table, slices: table.verifyRows() };
}

/** The bytes of the next slice; undefined when there is none. */
function verifySlice({ look, slices }: OpenTable): number | undefined {
  try {
    const slice: IteratorResult<number, void> = slices.next();
    return slice.done === true ? undefined : slice.value;
  } catch (failure) {
    throw look === 'late' ? mergedAway(failure) : failure;
  }
}
