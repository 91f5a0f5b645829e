/** Shows the levels of LevelDB and the cost of its compactions. */
import type { Metrics } from '#observability';
import type { LevelStore } from '#storage';

const LEVELS = ['0', '1', '2', '3', '4', '5', '6'] as const;

/** Returns the periodic check. LevelDB reports totals since the store was opened. */
export function storeLevels(store: Pick<LevelStore, 'levels'>, metrics: Metrics): () => void {
  return () => {
    const found = new Map(store.levels().map((stats) => [stats.level, stats]));
    for (const [number, level] of LEVELS.entries()) {
      const stats = found.get(number);
      metrics.gauge('cairn_store_tables', { level }).set(stats?.tables ?? 0);
      metrics.counter('cairn_store_compaction_seconds_total', { level }).raiseTo(stats?.seconds ?? 0);
      metrics.counter('cairn_store_compaction_read_bytes_total', { level }).raiseTo(stats?.readBytes ?? 0);
      metrics.counter('cairn_store_compaction_written_bytes_total', { level }).raiseTo(stats?.writtenBytes ?? 0);
    }
  };
}
