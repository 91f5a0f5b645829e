/** Measured runs of contenders, their alternating execution, and the Markdown table of their results. */
import { loadavg } from 'node:os';
import type { Latencies } from './latencies.ts';

export interface Sample {
  /** Number of operations, or of events when the workload counts events. */
  readonly operations: number;
  readonly failed: number;
  readonly seconds: number;
  readonly latencies: Latencies;
  readonly serverCpuSeconds: number;
  readonly clientCpuSeconds: number;
}

export interface Contender {
  readonly peer: string;
  /** Durability setting of the contender, in its own terms. */
  readonly durability: string;
  run(seconds: number): Promise<Sample>;
  /** Warm-up with many callers, for workloads with one: a single caller would take minutes to warm up the server. */
  warmUp?(seconds: number): Promise<Sample>;
}

export interface Workload {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly clients: number;
  readonly eventBytes: number;
  /** The first contender is the subject of the workload; ratios are its rate divided by the other's. */
  readonly contenders: readonly Contender[];
  /** Lines below the table, evaluated after the measurement. */
  readonly notes?: () => readonly string[];
}

export interface Series {
  readonly contender: Contender;
  readonly samples: Sample[];
}

export interface Plan {
  readonly rounds: number;
  readonly seconds: number;
  /** Duration of the load before the first round, because a JIT compiler needs thousands of calls. */
  readonly warmUpSeconds: number;
}

interface TimeColumn {
  readonly head: string;
  of(samples: readonly Sample[]): string;
}

/** Column for runs of one call each, which have no percentiles. */
const DURATION: TimeColumn = {
  head: 's a call',
  of: (samples) =>
    spread(
      samples.map(({ seconds }) => seconds),
      (value) => value.toFixed(2),
    ),
};

/** Percentiles with their minimum number of calls, so that one call is beyond the percentile. */
const PERCENTILES: readonly TimeColumn[] = (
  [
    ['p50', 2],
    ['p99', 100],
    ['p999', 1000],
  ] as const
).map(([name, callsMin]) => ({
  head: `${name === 'p999' ? 'p99.9' : name} ms`,
  of: (samples) => {
    const many = samples.filter(({ latencies }) => latencies.count >= callsMin);
    return many.length === samples.length ? millis(median(many.map((each) => each.latencies.percentiles()[name]))) : '';
  },
}));

/** Runs all contenders in turn, `rounds` times, so that disturbances affect them alike. */
export async function compete(workload: Workload, plan: Plan): Promise<readonly Series[]> {
  const series: readonly Series[] = workload.contenders.map((contender) => ({ contender, samples: [] }));
  for (const { contender } of series) {
    await (contender.warmUp?.(plan.warmUpSeconds) ?? contender.run(plan.warmUpSeconds));
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const { contender, samples } of series) samples.push(await contender.run(plan.seconds));
  }
  return series;
}

/** A Markdown table; rates and ratios as median (min to max over the rounds). */
export function table(workload: Workload, series: readonly Series[]): string {
  const first = series[0];
  const isOneCall = series.every(({ samples }) => samples.every(({ latencies }) => latencies.count === 1));
  const times = isOneCall ? [DURATION] : PERCENTILES;
  const rows = series.map(({ contender, samples }) => {
    const rates = samples.map(rate);
    const ratios =
      first === undefined || first.contender === contender
        ? []
        : first.samples.map((own, i) => rate(own) / (rates[i] ?? Number.NaN));
    const operations = sum(samples.map((sample) => sample.operations));
    const cpu = (of: (sample: Sample) => number): string => micros((sum(samples.map(of)) / operations) * 1e6);
    return [
      contender.peer,
      spread(rates, (value) => value.toFixed(0)),
      spread(ratios, (value) => value.toFixed(2)),
      ...times.map((time) => time.of(samples)),
      cpu((sample) => sample.serverCpuSeconds),
      cpu((sample) => sample.clientCpuSeconds),
      String(sum(samples.map((sample) => sample.failed))),
      contender.durability,
    ];
  });
  const head = [
    'peer',
    `${workload.unit}/s`,
    'first ÷ this',
    ...times.map(({ head: name }) => name),
    'server µs',
    'client µs',
    'failed',
    'durability',
  ];
  const clients = workload.clients === 1 ? '1 client' : `${workload.clients} clients`;
  return [
    `### ${workload.name}`,
    '',
    `${workload.what} ${clients}, ${workload.eventBytes}-byte events; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    '',
    ...(workload.notes?.().flatMap((line) => [line, '']) ?? []),
  ].join('\n');
}

function rate(sample: Sample): number {
  return sample.operations / sample.seconds;
}

/** The median with the range. */
export function spread(values: readonly number[], format: (value: number) => string): string {
  if (values.length === 0) return '';
  return `${format(median(values))} (${format(Math.min(...values))} to ${format(Math.max(...values))})`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function millis(value: number): string {
  return value.toFixed(2);
}

function micros(value: number): string {
  return Number.isFinite(value) ? value.toFixed(1) : '';
}
