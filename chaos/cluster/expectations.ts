/**
 * The minimum activity of a valid run: faults of each name, answers of each kind, and totals for long runs. A run
 * without activity finds nothing, so it must fail.
 */
import type { CallKind, History } from '../../test/simulation/history.ts';
import { type FaultName, NAMES, nameOf } from './faults.ts';
import type { Missing } from './missing.ts';
import type { Done } from './nemesis.ts';

/** Kinds of answers: to a call, to a transaction (recorded or refused), or a message of a subscription. */
type AnswerKind = Exclude<CallKind, 'transact'> | 'recorded' | 'refused' | 'shown' | 'heartbeat';

export interface Counts {
  /** Faults that were started. */
  readonly faults: Readonly<Record<FaultName, number>>;
  /** Answers to clients; `shown` counts events of subscriptions. */
  readonly answers: Readonly<Record<AnswerKind, number>>;
  readonly totals: Readonly<Record<Total, number>>;
}

/** Kills count each killed process; partitions count every kind. */
type Total = 'kills' | 'partitions';

/**
 * Minimum number of faults per minute, far below the actual number even on a busy machine. A run is too short for a
 * fault whose minimum is below one.
 */
const FAULTS_A_MINUTE: Readonly<Record<FaultName, number>> = {
  kill: 1,
  'kill-two': 0.34,
  'kill-all': 0.34,
  pause: 0.67,
  sleep: 0.34,
  restart: 0.34,
  'rolling-restart': 0.34,
  'partition-unplugged': 0.34,
  'partition-isolated': 0.34,
  'partition-mute': 0.34,
  'partition-deaf': 0.34,
  'partition-one-link': 0.34,
  'partition-half-link': 0.34,
  'slow-link': 0.34,
  'slow-disk': 0.34,
  'sync-error': 0.34,
  'full-disk': 0.34,
  clock: 0.34,
  // Other faults may delay a replacement for most of a run.
  replace: 0.15,
  'replace-dead': 0.15,
};

const ANSWERS_A_MINUTE: Readonly<Record<AnswerKind, number>> = {
  recorded: 30,
  refused: 2,
  create: 0.34,
  delete: 0.34,
  list: 0.34,
  describe: 5,
  asOf: 0.34,
  query: 5,
  fetch: 1,
  log: 0.34,
  await: 0.34,
  event: 0.34,
  names: 0.34,
  shown: 10,
  heartbeat: 5,
};

/** Length of a run that qualifies a release: it must also reach these totals. */
const LONG_MINUTES = 30;
const LONG_RUN: Readonly<Record<Total, number>> = { kills: 300, partitions: 100 };
const TOTALS = ['kills', 'partitions'] as const satisfies readonly Total[];

export function countsOf(histories: readonly History[], done: readonly Done[]): Counts {
  const faults = zeros(FAULTS_A_MINUTE);
  for (const { fault } of done) faults[nameOf(fault)] += 1;
  const answers = zeros(ANSWERS_A_MINUTE);
  for (const { operations, subscriptions } of histories) {
    for (const { kind, outcome } of operations) {
      if (outcome.kind !== 'ok') continue;
      answers[kind === 'transact' ? outcome.value.kind : kind] += 1;
    }
    for (const item of subscriptions.flatMap(({ items }) => items)) {
      if (item.kind === 'heartbeat') answers.heartbeat += 1;
      else answers.shown += item.events.length;
    }
  }
  return { faults, answers, totals: totalsOf(done) };
}

function totalsOf(done: readonly Done[]): Counts['totals'] {
  const killed = done.flatMap(({ fault, nodes }) => (fault.kind === 'kill' ? nodes : []));
  return { kills: killed.length, partitions: done.filter(({ fault }) => fault.kind === 'partition').length };
}

export interface Expected {
  readonly minutes: number;
  readonly hasFaults: boolean;
  readonly missing: Missing;
}

/** Returns a problem for each count below its minimum, and the faults that the run was too short for. */
export function shortfalls(
  { faults, answers, totals }: Counts,
  { minutes, hasFaults, missing }: Expected,
): { readonly problems: readonly string[]; readonly untried: Missing } {
  const names = hasFaults ? NAMES.filter((name) => missing[name] === undefined) : [];
  const ofFaults = names.map((name) => shortfall(name, faults[name], FAULTS_A_MINUTE[name] * minutes));
  const kinds = Object.entries(ANSWERS_A_MINUTE) as readonly [AnswerKind, number][];
  const ofAnswers = kinds.map(([kind, rate]) =>
    shortfall(`answers of the kind ${kind}`, answers[kind], rate * minutes),
  );
  const isLong = hasFaults && minutes >= LONG_MINUTES;
  const ofLong = isLong ? TOTALS.map((total) => shortfall(total, totals[total], LONG_RUN[total])) : [];
  const untried = names.filter((name) => faults[name] === 0 && FAULTS_A_MINUTE[name] * minutes < 1);
  return {
    problems: [...ofFaults, ...ofAnswers, ...ofLong].filter((each) => each !== undefined),
    untried: Object.fromEntries(untried.map((name) => [name, `did not come up in ${minutes} minutes`])),
  };
}

function shortfall(what: string, count: number, expected: number): string | undefined {
  const min = Math.floor(expected);
  return count >= min ? undefined : `${what}: ${count} in the run, which was to have ${min} or more`;
}

function zeros<Name extends string>(of: Readonly<Record<Name, unknown>>): Record<Name, number> {
  return Object.fromEntries(Object.keys(of).map((name) => [name, 0])) as Record<Name, number>;
}
