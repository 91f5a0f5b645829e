/**
 * The type of a named workload, and the suites of workloads:
 *
 *   default    the workloads of a run without options, which take about ten minutes
 *   standard   those, clusters, contention, latency at a fifth of the load, and workloads that take minutes
 *   esbs       the configurations of pyeventsourcing/event-store-benchmark
 *   umadb      the benches of UmaDB (umadb-benches), in lock-step waves
 */
import type { Arena } from '../arena.ts';
import type { Workload } from '../support/sample.ts';

export const SUITES = ['default', 'standard', 'esbs', 'umadb'] as const;
export type Suite = (typeof SUITES)[number];

export interface Preparation {
  readonly arena: Arena;
  /** Number of events in a loaded database. */
  readonly events: number;
}

export interface Named {
  readonly name: string;
  /** Suites with this workload; the first one defines it. */
  readonly suites: readonly Suite[];
  prepare(preparation: Preparation): Promise<readonly Workload[]>;
}
