/** The table of bench/attacks.ts, and the bounds that an attack exceeds. */
import { KINDS, type Kind, type Round } from './other-clients.ts';
import { spread } from './results.ts';
import type { AttackCost } from './running-attack.ts';

export interface AttackRound {
  readonly others: Round;
  readonly cost: AttackCost;
  /** Longer than `seconds` of the series when the last calls took long. */
  readonly tookSeconds: number;
  /** Processor time of the server. */
  readonly serverSeconds: number;
  readonly peakBytes: number;
}

/** Measurements of an attack at a port. There is a quiet round before and after each other one. */
export interface Series {
  readonly attack: string;
  readonly port: string;
  /** Length of a round with the attack; quiet ones take half as long. */
  readonly seconds: number;
  readonly quiet: readonly Round[];
  readonly attacked: readonly AttackRound[];
  /** Resident memory after the first quiet round. */
  readonly idleBytes: number;
}

export interface Bounds {
  /** Ratio of the p95 of other clients to that of quiet rounds. */
  readonly ratio: number;
  /** MiB above the memory of the idle node. */
  readonly memory: number;
}

const MEBIBYTE = 2 ** 20;
const COLUMNS = [
  'attack',
  'port',
  ...KINDS.map((kind) => `${kind}: p95 quiet → attacked, ms`),
  ...KINDS.map((kind) => `${kind}: ratio of p50; of p95`),
  'calls/s quiet → attacked; failed',
  'MiB more',
  'processors: server, attackers',
  'connections: opened, closed by the server; MB sent',
];

export const TABLE_HEAD: string = `${line(COLUMNS)}\n|${'---|'.repeat(COLUMNS.length)}`;

export function lineOf(series: Series): string {
  const { attack, port, seconds, quiet, attacked } = series;
  const rounds = attacked.map(({ others }) => others);
  const costs = attacked.map(({ cost }) => cost);
  const ms = (of: readonly Round[], kind: Kind): string =>
    mean(of.map((each) => percentile(each, kind, 'p95'))).toFixed(1);
  const shown = (values: readonly number[]): string => spread(values, (value) => value.toFixed(1));
  const [server, attackers] = [
    mean(attacked.map(({ serverSeconds, tookSeconds }) => serverSeconds / tookSeconds)),
    mean(attacked.map(({ cost, tookSeconds }) => cost.cpuSeconds / tookSeconds)),
  ];
  const sums = [costs.map(({ opened }) => opened), costs.map(({ closed }) => closed)].map(sum);
  return line([
    attack,
    port,
    ...KINDS.map((kind) => `${ms(quiet, kind)} → ${ms(rounds, kind)}`),
    ...KINDS.map((kind) => `${shown(ratios(series, kind, 'p50'))}; ${shown(ratios(series, kind, 'p95'))}`),
    `${rate(quiet, seconds / 2)} → ${rate(rounds, seconds)}; ${sum(rounds.map(({ failed }) => failed))}`,
    memory(series).toFixed(0),
    `${server.toFixed(2)}, ${attackers.toFixed(2)}`,
    `${sums.join(', ')}; ${(sum(costs.map(({ sentBytes }) => sentBytes)) / 1e6).toFixed(1)}`,
  ]);
}

/** One line for each bound that is exceeded. */
export function faultsOf(series: Series, bounds: Bounds): readonly string[] {
  const name = `${series.attack} at ${series.port}`;
  const faults = KINDS.flatMap((kind) => {
    const values = ratios(series, kind, 'p95').toSorted((a, b) => a - b);
    const found = values[Math.floor(values.length / 2)] ?? Number.NaN;
    return found <= bounds.ratio
      ? []
      : [`the p95 of ${kind} is ${found.toFixed(1)} times that of quiet rounds, not ${bounds.ratio} at most`];
  });
  const more = memory(series);
  if (more > bounds.memory) faults.push(`${more.toFixed(0)} MiB more than idle, not ${bounds.memory} at most`);
  return faults.map((fault) => `${name}: ${fault}`);
}

/** For each round, the percentile divided by the mean of that of the quiet rounds beside it. */
function ratios({ quiet, attacked }: Series, kind: Kind, which: 'p50' | 'p95'): readonly number[] {
  return attacked.map(({ others }, n) => {
    const beside = quiet.slice(n, n + 2).map((each) => percentile(each, kind, which));
    return percentile(others, kind, which) / mean(beside);
  });
}

function percentile(round: Round, kind: Kind, which: 'p50' | 'p95'): number {
  return round[kind].percentiles()[which];
}

function memory({ attacked, idleBytes }: Series): number {
  return (Math.max(...attacked.map(({ peakBytes }) => peakBytes)) - idleBytes) / MEBIBYTE;
}

/** Calls per second. */
function rate(rounds: readonly Round[], seconds: number): string {
  return (mean(rounds.map((round) => sum(KINDS.map((kind) => round[kind].count)))) / seconds).toFixed(0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
