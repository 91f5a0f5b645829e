/** Computes how long no write succeeded, in total and after each kind of fault, from the history of the prober. */
import type { History } from '../../test/simulation/history.ts';
import type { Done } from './nemesis.ts';
import type { Span } from './quorum.ts';

/** Milliseconds from a fault to the first acknowledgement of a transaction that was sent after it. */
export interface Gaps {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Figures {
  /** Acknowledged transactions of the prober. */
  readonly probes: number;
  readonly longestWriteGapMs: number;
  /** Longest part of such a gap during which a majority of the nodes was up. */
  readonly longestGapOfMajorityMs: number;
  /** Gaps after each kind of fault. `kill-leader` counts kills of only the leader, while no other fault was active. */
  readonly gaps: Readonly<Record<string, Gaps>>;
}

interface Commit {
  readonly invokedUs: number;
  readonly returnedUs: number;
}

/** `spans`: periods with a majority. */
export function figuresOf(history: History, done: readonly Done[], spans: readonly Span[]): Figures {
  const commits = commitsOf(history);
  const waits = new Map<string, number[]>();
  for (const each of done) {
    const commit = commits.find(({ invokedUs }) => invokedUs > each.fromUs);
    if (commit === undefined) continue;
    for (const name of namesOf(each, done, commit.returnedUs)) {
      waits.set(name, [...(waits.get(name) ?? []), (commit.returnedUs - each.fromUs) / 1000]);
    }
  }
  const sorted = [...waits].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    probes: commits.length,
    longestWriteGapMs: longest(silences(history).map(({ ms }) => ms)),
    longestGapOfMajorityMs: longest(silences(history).map((silence) => longestWithin(silence, spans))),
    gaps: Object.fromEntries(sorted.map(([name, each]) => [name, gapsOf(each)])),
  };
}

/** Returns 0 for an empty list. A long run has more writes than `Math.max` takes arguments. */
function longest(lengths: readonly number[]): number {
  return lengths.reduce((one, other) => Math.max(one, other), 0);
}

export interface Silence {
  readonly fromUs: number;
  readonly ms: number;
}

/** Returns the longest part of a silence that is within one of the spans, in milliseconds. */
export function longestWithin({ fromUs, ms }: Silence, spans: readonly Span[]): number {
  const untilUs = fromUs + ms * 1000;
  const parts = spans.map((span) => Math.min(span.toUs, untilUs) - Math.max(span.fromUs, fromUs));
  return Math.round(longest(parts) / 1000);
}

/** Returns the times between consecutive acknowledged transactions, in milliseconds, and when each began. */
export function silences(history: History): readonly Silence[] {
  const times = commitsOf(history).map(({ returnedUs }) => returnedUs);
  return times.slice(1).map((time, at) => {
    const fromUs = times[at] ?? time;
    return { fromUs, ms: Math.round((time - fromUs) / 1000) };
  });
}

function commitsOf(history: History): readonly Commit[] {
  return history
    .of('transact')
    .filter(({ outcome }) => outcome.kind === 'ok' && outcome.value.kind === 'recorded')
    .map(({ invokedUs, returnedUs }): Commit => ({ invokedUs, returnedUs }))
    .toSorted((a, b) => a.returnedUs - b.returnedUs);
}

function namesOf(done: Done, all: readonly Done[], untilUs: number): readonly string[] {
  const { fault, nodes, leader, fromUs } = done;
  const name = fault.kind === 'partition' ? `partition-${fault.way}` : fault.kind;
  const isOfLeader = nodes.length === 1 && nodes[0] === leader;
  if (!isOfLeader) return [name];
  const isAlone = all.every((other) => other === done || other.fromUs > untilUs || other.toUs < fromUs);
  return isAlone ? [name, `${name}-leader`] : [name];
}

function gapsOf(waits: readonly number[]): Gaps {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0);
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
