/** One measured run of one contender, and the table that many of them make. */
import { loadavg } from 'node:os';
import type { Latencies } from './latencies.ts';

export interface Sample {
  /** Operations, or events where the workload counts events. */
  readonly operations: number;
  readonly failed: number;
  readonly seconds: number;
  readonly latencies: Latencies;
  readonly serverCpuSeconds: number;
  readonly clientCpuSeconds: number;
}

export interface Contender {
  readonly peer: string;
  /** What the sync mode of the peer is, in its own words. */
  readonly durability: string;
  run(seconds: number): Promise<Sample>;
  /** The same by many callers, where `run` has one: a lone caller would not make the server warm in a minute. */
  warmUp?(seconds: number): Promise<Sample>;
}

export interface Workload {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly clients: number;
  readonly eventBytes: number;
  /** The first is what the workload is about; ratios are its rate over the other's. */
  readonly contenders: readonly Contender[];
  /** Lines for below the table, once all has been measured. */
  readonly notes?: () => readonly string[];
}

export interface Series {
  readonly contender: Contender;
  readonly samples: Sample[];
}

export interface Plan {
  readonly rounds: number;
  readonly seconds: number;
  /** Unmeasured load before the first round: an interpreter compiles what is hot only after thousands of calls. */
  readonly warmUpSeconds: number;
}

interface TimeColumn {
  readonly head: string;
  of(samples: readonly Sample[]): string;
}

/** Of runs that are one call each: there is nothing to take percentiles of. */
const DURATION: TimeColumn = {
  head: 's a call',
  of: (samples) =>
    spread(
      samples.map(({ seconds }) => seconds),
      (value) => value.toFixed(2),
    ),
};

/** A percentile is shown of runs with so many calls that one of them lies beyond it. */
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

/** Runs all contenders in turn, `rounds` times over: whatever disturbs the machine disturbs them alike. */
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

/** The median, and the range. */
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
