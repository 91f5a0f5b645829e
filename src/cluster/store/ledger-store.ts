/**
 * The store of a node: rows that nothing can be derived from are in its ledger, those of the node and of the catalog;
 * all other rows are in LevelDB. The keys of the former sort before all others.
 *
 * A batch with rows of both kinds is written to LevelDB first, then to the ledger, which syncs every write. So a crash
 * may leave out the latter, and readers of LevelDB must expect rows that the catalog does not justify:
 *
 *   - the first rows of a database without its binding: the entry is applied again, and overwrites them;
 *   - a recovered database without the trash mark of its origin: the next start copies it again (recovered-copies.ts).
 */
import { assert, compareBytes, type GroupId } from '#base';
import { type HistoryAppend, KeyWriter, type KvBatch, type KvRange, type KvRangeOptions, type KvStore } from '#kv';
import type { Ledger, LevelStore, RowChange } from '#storage';

/** The first key behind those of the node, `00 …`, and of the catalog, `01 00000000 …`. */
const LEDGER_END = new KeyWriter().u8(0x01).u32(1).key();

export type LedgerStore = KvStore & Pick<LevelStore, 'checkpointFiles'>;

/** Adds the rows of a ledger to a store of the others. */
export function ledgerStore(rows: LedgerStore, ledger: Ledger): LedgerStore {
  return {
    get history() {
      return rows.history;
    },
    get: (key) => (isOfLedger(key) ? ledger.get(key) : rows.get(key)),
    range: (options) => (isOfLedger(options.gte) ? rangeOf(ledger, options) : rows.range(options)),
    batch: () => new LedgerBatch(rows.batch()),
    write: async (batch) => {
      assert(batch instanceof LedgerBatch, 'A batch is written by the store that made it');
      await rows.write(batch.others);
      if (batch.changes.length > 0) await ledger.write(batch.changes);
    },
    clear: async (gte, lt) => {
      assert(!isOfLedger(gte), 'Rows of the ledger are deleted one by one', gte);
      await rows.clear(gte, lt);
    },
    approximateSize: (gte, lt) => rows.approximateSize(gte, lt),
    compact: (gte, lt) => rows.compact(gte, lt),
    cutHistory: (group, position, synced) => rows.cutHistory(group, position, synced),
    historyEnd: (group) => rows.historyEnd(group),
    verifyHistory: (group, end, synced) => rows.verifyHistory(group, end, synced),
    copyHistory: (from, to) => rows.copyHistory(from, to),
    historySize: (group) => rows.historySize(group),
    checkpointFiles: () => rows.checkpointFiles(),
    close: async () => {
      ledger.close();
      await rows.close();
    },
  };
}

/** Only forwards, and to the end. */
function rangeOf(ledger: Ledger, options: KvRangeOptions): KvRange {
  assert(compareBytes(options.lt, LEDGER_END) <= 0, 'A range lies in the ledger or behind it', options.lt);
  assert(options.reverse !== true && options.limit === undefined, 'A range of the ledger has no other options');
  const left = [...ledger.rows(options)];
  return { next: async (count) => left.splice(0, count), close: async () => undefined };
}

class LedgerBatch implements KvBatch {
  readonly changes: RowChange[] = [];
  readonly others: KvBatch;
  #changedBytes = 0;

  constructor(others: KvBatch) {
    this.others = others;
  }

  get byteLength(): number {
    return this.#changedBytes + this.others.byteLength;
  }

  get count(): number {
    return this.changes.length + this.others.count;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    if (!isOfLedger(key)) return this.others.put(key, value);
    this.changes.push({ key: new Uint8Array(key), value: new Uint8Array(value) });
    this.#changedBytes += key.length + value.length;
  }

  del(key: Uint8Array): void {
    if (!isOfLedger(key)) return this.others.del(key);
    this.changes.push({ key: new Uint8Array(key) });
    this.#changedBytes += key.length;
  }

  append(group: GroupId, records: HistoryAppend): void {
    this.others.append(group, records);
  }
}

/** Returns whether the row with this key is in the ledger. */
export function isOfLedger(key: Uint8Array): boolean {
  return compareBytes(key, LEDGER_END) < 0;
}
