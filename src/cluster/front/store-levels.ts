/** Shows the levels of LevelDB and the cost of its compactions. */
import type { Metrics } from '#observability';
import type { LevelStats, LevelStore } from '#storage';

const LEVELS = ['0', '1', '2', '3', '4', '5', '6'] as const;

/** Counters of a level. */
type Counted = Pick<LevelStats, 'seconds' | 'readBytes' | 'writtenBytes'>;

const NOTHING: Counted = { seconds: 0, readBytes: 0, writtenBytes: 0 };

/** Returns the periodic check. LevelDB reports totals since the store was opened. */
export function storeLevels(store: Pick<LevelStore, 'levels'>, metrics: Metrics): () => void {
  const shown = LEVELS.map((level) => ({
    tables: metrics.gauge('cairn_store_tables', { level }),
    seconds: metrics.counter('cairn_store_compaction_seconds_total', { level }),
    read: metrics.counter('cairn_store_compaction_read_bytes_total', { level }),
    written: metrics.counter('cairn_store_compaction_written_bytes_total', { level }),
  }));
  const before: Counted[] = LEVELS.map(() => NOTHING);
  return () => {
    const found = new Map(store.levels().map((stats) => [stats.level, stats]));
    for (const [level, { tables, seconds, read, written }] of shown.entries()) {
      const stats = found.get(level);
      tables.set(stats?.tables ?? 0);
      if (stats === undefined) continue;
      const last = before[level] ?? NOTHING;
      if (stats.seconds > last.seconds) seconds.add(stats.seconds - last.seconds);
      if (stats.readBytes > last.readBytes) read.add(stats.readBytes - last.readBytes);
      if (stats.writtenBytes > last.writtenBytes) written.add(stats.writtenBytes - last.writtenBytes);
      before[level] = stats;
    }
  };
}
