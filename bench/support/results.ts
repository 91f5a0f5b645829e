/** The one Markdown table of a run: a line for each contender of each workload, with its median and range. */
import { loadavg } from 'node:os';
import type { Sample, Series, Workload } from './sample.ts';

/** Percentiles with their minimum number of calls, so that one call is beyond the percentile. */
const PERCENTILES = [
  ['p50', 2],
  ['p99', 100],
  ['p999', 1000],
] as const;

const COLUMNS = [
  'work',
  'contender',
  'a second, or figure',
  'first ÷ this',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'server µs',
  'client µs',
  'written B',
  'failed',
  'load',
] as const;

/** A measured value of a workload that is not a rate. */
export interface Figure {
  readonly contender: string;
  readonly text: string;
}

export const TABLE_HEAD: string = [line(COLUMNS), line(COLUMNS.map(() => '---'))].join('\n');

/** The lines of a workload; rates and ratios as median (min to max over the rounds). */
export function rateLines(workload: Workload, series: readonly Series[]): string {
  const [first] = series;
  return series
    .map((each) => {
      const { samples } = each;
      const operations = sum(samples.map((sample) => sample.operations));
      const perOperation = (of: (sample: Sample) => number, scale: number): string => {
        const value = (scale * sum(samples.map(of))) / operations;
        return Number.isFinite(value) ? value.toFixed(1) : '';
      };
      const rates = spread(samples.map(rate), (value) => value.toFixed(0));
      return lineOf(workload.name, each.peer, [
        [rates === '' ? '' : `${rates} ${workload.unit}`, each.failure ?? ''].filter(Boolean).join('; '),
        first === undefined || first === each ? '' : spread(ratios(first, each), (value) => value.toFixed(2)),
        ...PERCENTILES.map(([name, callsMin]) => percentile(samples, name, callsMin)),
        perOperation((sample) => sample.serverCpuSeconds, 1e6),
        perOperation((sample) => sample.clientCpuSeconds, 1e6),
        perOperation((sample) => sample.writtenBytes ?? Number.NaN, 1),
        String(sum(samples.map((sample) => sample.failed))),
      ]);
    })
    .join('\n');
}

export function figureLines(name: string, figures: readonly Figure[]): string {
  return figures.map(({ contender, text }) => lineOf(name, contender, [text])).join('\n');
}

/** A table of one workload, followed by the remarks of its contenders. */
export function table(workload: Workload, series: readonly Series[]): string {
  const parts = [`### ${workload.name}`, '', describe(workload), '', TABLE_HEAD, rateLines(workload, series), ''];
  return [...parts, ...remarks(series), ''].join('\n');
}

export function describe({ what, clients, eventBytes }: Workload): string {
  return `${what} ${clients === 1 ? '1 client' : `${clients} clients`}, ${eventBytes}-byte events.`;
}

export function remarks(series: readonly Series[]): readonly string[] {
  return series.flatMap(({ peer, note }) => (note === undefined ? [] : [`${peer}: ${note}`]));
}

function lineOf(name: string, contender: string, values: readonly string[]): string {
  const cells = [name, contender, ...values];
  const blanks = Array.from({ length: COLUMNS.length - 1 - cells.length }, () => '');
  return line([...cells, ...blanks, loadavg()[0]?.toFixed(1) ?? '']);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function percentile(samples: readonly Sample[], name: (typeof PERCENTILES)[number][0], callsMin: number): string {
  const isKnown = samples.length > 0 && samples.every(({ latencies }) => latencies.count >= callsMin);
  return isKnown ? median(samples.map(({ latencies }) => latencies.percentiles()[name])).toFixed(2) : '';
}

/** One ratio per round in which both were measured and the other has done anything. */
function ratios(first: Series, other: Series): readonly number[] {
  const rounds = Math.min(first.samples.length, other.samples.length);
  const rates = (series: Series): readonly number[] => series.samples.slice(0, rounds).map(rate);
  const others = rates(other);
  return rates(first)
    .map((own, round) => own / (others[round] ?? Number.NaN))
    .filter(Number.isFinite);
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
