// Goal: a chaos run on a cluster fails when any count is below its minimum. Method: examples with known answers.
import { describe, expect, it } from 'vitest';
import { type Counts, countsOf, shortfalls } from '../../chaos/cluster/expectations.ts';
import { NAMES, ROWS } from '../../chaos/cluster/faults.ts';

describe('the minimum activity of a run', () => {
  const nothing = countsOf([], []);
  const plenty = Object.fromEntries(Object.keys(nothing.answers).map((kind) => [kind, 1000])) as Counts['answers'];
  const faulty = Object.fromEntries(NAMES.map((name) => [name, 100])) as Counts['faults'];
  const totals = { kills: 300, partitions: 100 };

  it('covers every fault, each of which is in a row', () => {
    expect(ROWS.flatMap(({ cards }) => Object.keys(cards)).toSorted()).toEqual(NAMES.toSorted());
  });

  it('includes every fault and every kind of answer', () => {
    const all = { minutes: 10, hasFaults: true, missing: {} };
    expect(shortfalls({ faults: faulty, answers: plenty, totals }, all)).toEqual({ problems: [], untried: {} });
    const { problems } = shortfalls(nothing, all);
    expect(problems).toHaveLength(NAMES.length + Object.keys(plenty).length);
    expect(problems[0]).toBe('kill: 0 in the run, which was to have 10 or more');
    expect(problems).toContain('answers of the kind names: 0 in the run, which was to have 3 or more');
  });

  it('excludes faults that cannot be injected, and lists faults that a short run has no time for', () => {
    const missing = { clock: 'no library' };
    const faults = { ...faulty, clock: 0, replace: 0, 'sync-error': 0 };
    const counts = { faults, answers: plenty, totals };
    const { problems, untried } = shortfalls(counts, { minutes: 3, hasFaults: true, missing });
    expect(problems).toEqual(['sync-error: 0 in the run, which was to have 1 or more']);
    expect(untried).toEqual({ replace: 'did not come up in 3 minutes' });
  });
});
