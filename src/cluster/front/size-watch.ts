/** Measures the disk usage of log and store of a running node, and the statistics of LevelDB. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Metrics } from '#observability';
import type { LevelStore } from '#storage';

const MEASURE_EVERY_MS = 10_000;
const LEVELS = ['0', '1', '2', '3', '4', '5', '6'] as const;

export interface SizeWatchPorts {
  readonly logDirectory: string;
  readonly storeDirectory: string;
  /** Open as long as the watch runs. */
  readonly store: Pick<LevelStore, 'levels'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface SizeWatch {
  /** Resolves when no measurement runs any more. */
  close(): Promise<void>;
}

/** Measures at once, and again 10 s after each measurement. Errors are logged, and the last sizes stay. */
export function watchSizes({ logDirectory, storeDirectory, store, logger, metrics }: SizeWatchPorts): SizeWatch {
  const showLevels = storeLevels(store, metrics);
  const places = [
    { directory: logDirectory, gauge: metrics.gauge('cairn_store_size_bytes', { kind: 'wal' }) },
    { directory: storeDirectory, gauge: metrics.gauge('cairn_store_size_bytes', { kind: 'leveldb' }) },
  ];
  const closing = new AbortController();
  const { signal } = closing;
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        showLevels();
        for (const { directory, gauge } of places) gauge.set(await bytesIn(directory, signal));
      } catch (error) {
        if (!signal.aborted) logger.warn('sizes-unknown', { error });
      }
      await delay(MEASURE_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    close: async () => {
      closing.abort();
      await watching;
    },
  };
}

/** Returns the periodic check of the levels and compactions of LevelDB, which reports totals since it was opened. */
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

/** One file at a time, because LevelDB uses the same thread pool. */
async function bytesIn(directory: string, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) {
    signal.throwIfAborted();
    bytes += await bytesOf(join(directory, name));
  }
  return bytes;
}

async function bytesOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (failure) {
    // Segments and tables may be deleted between the listing and the measurement.
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return 0;
    throw failure;
  }
}
