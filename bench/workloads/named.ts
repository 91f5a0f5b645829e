/**
 * The type of a named workload, and the suites of workloads:
 *
 *   default    the workloads of a run without options, which take about a quarter of an hour
 *   standard   those, clusters, subscribers, contention, latency at a fifth of the load
 *   long       databases of ten times as many events, catch-up, and a slow disk
 *   esbs       the configurations of pyeventsourcing/event-store-benchmark
 *   umadb      the benches of UmaDB (umadb-benches), in lock-step waves
 */
import type { Arena } from '../arena.ts';
import type { Figure } from '../support/results.ts';
import type { Plan, Workload } from '../support/sample.ts';

export const SUITES = ['default', 'standard', 'long', 'esbs', 'umadb'] as const;
export type Suite = (typeof SUITES)[number];

export interface Preparation {
  readonly arena: Arena;
  /** Number of events in a loaded database. */
  readonly events: number;
}

/** A workload of Cairn alone whose results are not rates. */
export interface Measurement {
  readonly name: string;
  /** Directory of its servers, which are killed when it takes too long. */
  readonly directory: string;
  readonly what: string;
  readonly figures: (plan: Plan) => Promise<readonly Figure[]>;
}

export interface Named {
  readonly name: string;
  /** Suites with this workload; the first one defines it. */
  readonly suites: readonly Suite[];
  readonly prepare: (preparation: Preparation) => readonly (Workload | Measurement)[];
}
