/** Verifies tables and sealed segments of a running node in the background; damage ends the process. */
import type { Logger, Metrics } from '#observability';
import { ScrubThread } from '#storage';
import { stopProcess } from './fatal.ts';

export interface TableWatchPorts {
  readonly dataDirectory: string;
  readonly storeDirectory: string;
  /** Tables that were verified before the store was opened. */
  readonly seen: readonly number[];
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const MS_PER_SECOND = 1000;

/** Starts the scrub. Close it before the store. */
export function watchTables(ports: TableWatchPorts): ScrubThread {
  const { dataDirectory, storeDirectory, seen, logger, metrics } = ports;
  const bytes = metrics.counter('cairn_store_scrub_bytes_total', {});
  const round = metrics.gauge('cairn_store_scrub_round_timestamp_seconds', {});
  const listeners = {
    onVerified: (facts: { readonly bytes: number; readonly isWholeRound: boolean }): void => {
      bytes.add(facts.bytes);
      if (facts.isWholeRound) round.set(Date.now() / MS_PER_SECOND);
    },
    onFailure: (failure: Error): never => stopProcess({ logger, dataDirectory }, 'scrub', failure),
  };
  return new ScrubThread({ directory: storeDirectory, seen }, listeners);
}
