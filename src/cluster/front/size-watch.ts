/** Measures the disk usage of log and store of a running node, and the statistics of LevelDB. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Metrics } from '#observability';
import { historiesIn, type LevelStore } from '#storage';

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

interface Place {
  readonly directory: string;
  /** True: the files are in its subdirectories. */
  readonly isDeep: boolean;
}

/** Measures at once, and again 10 s after each measurement. Errors are logged, and the last sizes stay. */
export function watchSizes({ logDirectory, storeDirectory, store, logger, metrics }: SizeWatchPorts): SizeWatch {
  const showLevels = storeLevels(store, metrics);
  const places = [
    { directory: logDirectory, isDeep: false, gauge: metrics.gauge('cairn_store_size_bytes', { kind: 'wal' }) },
    { directory: storeDirectory, isDeep: false, gauge: metrics.gauge('cairn_store_size_bytes', { kind: 'leveldb' }) },
    {
      directory: historiesIn(storeDirectory),
      isDeep: true,
      gauge: metrics.gauge('cairn_store_size_bytes', { kind: 'segments' }),
    },
  ];
  const closing = new AbortController();
  const { signal } = closing;
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        showLevels();
        for (const place of places) place.gauge.set(await bytesIn(place, signal));
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

/** One file at a time, because LevelDB uses the same thread pool. Histories have a directory each. */
async function bytesIn({ directory, isDeep }: Place, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  for (const name of (await unlessMissing(readdir(directory, { recursive: isDeep }))) ?? []) {
    signal.throwIfAborted();
    const found = await unlessMissing(stat(join(directory, name)));
    if (found?.isFile() === true) bytes += found.size;
  }
  return bytes;
}

/** Files may be deleted between the listing and the measurement, and histories be none yet. */
async function unlessMissing<Value>(work: Promise<Value>): Promise<Value | undefined> {
  return work.catch((failure: unknown) => {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return undefined;
    throw failure;
  });
}
