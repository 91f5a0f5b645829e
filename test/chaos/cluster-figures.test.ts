// Goal: a run of chaos on a cluster fails when it had too little of anything. Method: examples with known answers.
import { describe, expect, it } from 'vitest';
import { type Counts, countsOf, shortfalls } from '../../chaos/cluster/expectations.ts';
import { NAMES, ROWS } from '../../chaos/cluster/faults.ts';

describe('what a run must have had', () => {
  const nothing = countsOf([], []);
  const plenty = Object.fromEntries(Object.keys(nothing.answers).map((kind) => [kind, 1000])) as Counts['answers'];
  const faulty = Object.fromEntries(NAMES.map((name) => [name, 100])) as Counts['faults'];
  const totals = { kills: 300, partitions: 100 };

  it('can come up: every fault is in one of the rows', () => {
    expect(ROWS.flatMap(({ cards }) => Object.keys(cards)).toSorted()).toEqual(NAMES.toSorted());
  });

  it('is some of every fault and of every answer', () => {
    const all = { minutes: 10, hasFaults: true, missing: {} };
    expect(shortfalls({ faults: faulty, answers: plenty, totals }, all)).toEqual({ problems: [], untried: {} });
    const { problems } = shortfalls(nothing, all);
    expect(problems).toHaveLength(NAMES.length + Object.keys(plenty).length);
    expect(problems[0]).toBe('kill: 0 in the run, which was to have 10 or more');
    expect(problems).toContain('answers of the kind names: 0 in the run, which was to have 3 or more');
  });

  it('is no fault that cannot be done, and none that a short run has no time for, which is named', () => {
    const missing = { clock: 'no library' };
    const faults = { ...faulty, clock: 0, replace: 0, 'sync-error': 0 };
    const counts = { faults, answers: plenty, totals };
    const { problems, untried } = shortfalls(counts, { minutes: 3, hasFaults: true, missing });
    expect(problems).toEqual(['sync-error: 0 in the run, which was to have 1 or more']);
    expect(untried).toEqual({ replace: 'did not come up in 3 minutes' });
  });
});
