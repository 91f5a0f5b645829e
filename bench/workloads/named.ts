/**
 * Every named workload, and the suites that they make:
 *
 *   default    what a run without options measures, in about ten minutes
 *   standard   that, clusters, contention, latency at a fifth of the load, and what takes minutes
 *   esbs       the configurations of pyeventsourcing/event-store-benchmark
 *   umadb      the benches of UmaDB (umadb-benches), in lock-step waves
 */
import type { Arena } from '../arena.ts';
import type { Workload } from '../support/sample.ts';

export const SUITES = ['default', 'standard', 'esbs', 'umadb'] as const;
export type Suite = (typeof SUITES)[number];

export interface Preparation {
  readonly arena: Arena;
  /** How many events a loaded database holds. */
  readonly events: number;
}

export interface Named {
  readonly name: string;
  /** The first is its own; others run it as well. */
  readonly suites: readonly Suite[];
  prepare(preparation: Preparation): Promise<readonly Workload[]>;
}
