// Goal: what a run of chaos on a cluster says of itself is right: which faults are drawn, when a majority may be hit,
// how long nobody could write, and whether there was enough of everything. Method: examples with known answers.
import { describe, expect, it } from 'vitest';
import { type Counts, countsOf, shortfalls } from '../../chaos/cluster/expectations.ts';
import { Deck, type Fault, NAMES, nameOf, ROWS } from '../../chaos/cluster/faults.ts';
import { figuresOf } from '../../chaos/cluster/figures.ts';
import type { Done } from '../../chaos/cluster/nemesis.ts';
import { Quorum } from '../../chaos/cluster/quorum.ts';
import { Rng } from '../simulation/engine/random.ts';
import { type AnyOperation, History } from '../simulation/history.ts';

const TARGET = { isLeader: true, draw: 0 };

type Times = readonly [invokedMs: number, returnedMs: number];

/** A history of transactions that were acknowledged, each by its times in milliseconds. */
function commits(...times: readonly Times[]): History {
  return commitsAt(times);
}

function commitsAt(times: readonly Times[]): History {
  const history = new History();
  for (const [number, [invokedMs, returnedMs]] of times.entries()) {
    history.operations.push({
      number,
      kind: 'transact',
      client: 'prober',
      request: { name: 'probed', transactionId: String(number), constraints: [], events: [] },
      invokedUs: invokedMs * 1000,
      returnedUs: returnedMs * 1000,
      isDoubled: false,
      session: undefined,
      outcome: { kind: 'ok', value: { kind: 'recorded' } },
    } as unknown as AnyOperation);
  }
  return history;
}

function kill(fromMs: number, node: string, leader: string): Done {
  const fault = { kind: 'kill', count: 'one', target: TARGET, downMs: 0 } as const;
  return { fault, nodes: [node], leader, fromUs: fromMs * 1000, toUs: (fromMs + 10) * 1000 };
}

describe('figures', () => {
  it('count the wait from a fault to the first answer to what was sent after it', () => {
    const history = commits([0, 10], [20, 130], [150, 1150], [1200, 1210]);
    const { longestWriteGapMs, gaps, probes } = figuresOf(history, [kill(100, 'node-1', 'node-1')], []);
    expect({ probes, longestWriteGapMs }).toEqual({ probes: 4, longestWriteGapMs: 1020 });
    const wait = { count: 1, p50Ms: 1050, p99Ms: 1050, maxMs: 1050 };
    expect(gaps).toEqual({ kill: wait, 'kill-leader': wait });
  });

  it('name the longest time without a write in which a majority was well', () => {
    const history = commits([0, 10], [1000, 2010], [2020, 2500]);
    const spans = [
      { fromUs: 0, toUs: 400_000 },
      { fromUs: 1_200_000, toUs: Number.POSITIVE_INFINITY },
    ];
    const { longestWriteGapMs, longestGapOfMajorityMs } = figuresOf(history, [], spans);
    expect([longestWriteGapMs, longestGapOfMajorityMs]).toEqual([2000, 810]);
    expect(figuresOf(history, [], []).longestGapOfMajorityMs).toBe(0);
  });
});

describe('a quorum', () => {
  it('bears so many nodes as leave a majority, and those that are wrong already', async () => {
    const quorum = new Quorum(3);
    expect([quorum.bears([1]), quorum.bears([1, 2])]).toEqual([true, false]);
    await quorum.without([1], async () => {
      expect([quorum.bears([1]), quorum.bears([2])]).toEqual([true, false]);
      await quorum.without([2], async () => expect(quorum.isSettled(0)).toBe(false));
    });
    expect([quorum.isSettled(0), quorum.isSettled(60_000)]).toEqual([true, false]);
  });
});

describe('a deck of faults', () => {
  it('is dealt by the seed alone, one of each name first, then as many as its cards say', () => {
    for (const { cards } of ROWS) {
      const names = Object.keys(cards).toSorted();
      const size = Object.values(cards).reduce((sum, count) => sum + count, 0);
      const deal = (): readonly Fault[] => {
        const deck = new Deck(new Rng(7, 'faults'), cards);
        return Array.from({ length: names.length + size }, () => deck.draw());
      };
      const faults = deal();
      expect(deal()).toEqual(faults);
      expect(faults.slice(0, names.length).map(nameOf).toSorted()).toEqual(names);
      const dealt = Object.groupBy(faults.slice(names.length), nameOf);
      expect(Object.fromEntries(Object.entries(dealt).map(([name, each]) => [name, each.length]))).toEqual(cards);
    }
  });

  it('has every name in one of the rows', () => {
    expect(ROWS.flatMap(({ cards }) => Object.keys(cards)).toSorted()).toEqual(NAMES.toSorted());
  });
});

describe('what a run must have had', () => {
  const nothing = countsOf([], []);
  const plenty = Object.fromEntries(Object.keys(nothing.answers).map((kind) => [kind, 1000])) as Counts['answers'];
  const faulty = Object.fromEntries(NAMES.map((name) => [name, 100])) as Counts['faults'];
  const totals = { kills: 300, partitions: 100 };

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
