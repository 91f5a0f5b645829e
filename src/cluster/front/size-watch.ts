/** Measures what log and store take on the disk of a running node, and what the store makes of it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Metrics } from '#observability';
import type { LevelStore } from '#storage';
import { storeLevels } from './store-levels.ts';

const MEASURE_EVERY_MS = 10_000;

export interface SizeWatchPorts {
  readonly logDirectory: string;
  readonly storeDirectory: string;
  /** Open for as long as the watch is. */
  readonly store: Pick<LevelStore, 'levels'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface SizeWatch {
  /** Resolves when nothing is being looked at any more. */
  close(): Promise<void>;
}

/** Measures at once, and again 10 s after it has. What cannot be read is logged, and the last sizes stay. */
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

/** One file after the other: LevelDB reads and writes in the same pool of threads. */
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
    // Between the listing and the look it was deleted, as segments and tables are.
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return 0;
    throw failure;
  }
}
