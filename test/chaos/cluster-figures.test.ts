// Goal: what a run of chaos on a cluster says of itself is right: which faults are drawn, when a majority may be hit,
// and how long nobody could write. Method: examples with known answers.
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#cluster';
import { drawFault, ROWS } from '../../chaos/cluster/faults.ts';
import { figuresOf } from '../../chaos/cluster/figures.ts';
import type { Done } from '../../chaos/cluster/nemesis.ts';
import { Quorum } from '../../chaos/cluster/quorum.ts';
import { Rng } from '../simulation/engine/random.ts';
import { type AnyOperation, History } from '../simulation/history.ts';

const TARGET = { isLeader: true, draw: 0 };

/** A history of transactions that were acknowledged, each by its times in milliseconds. */
function commits(...times: readonly (readonly [invokedMs: number, returnedMs: number])[]): History {
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
    const { longestWriteGapMs, gaps, probes } = figuresOf(history, [kill(100, 'node-1', 'node-1')]);
    expect({ probes, longestWriteGapMs }).toEqual({ probes: 4, longestWriteGapMs: 1020 });
    const wait = { count: 1, p50Ms: 1050, p99Ms: 1050, maxMs: 1050 };
    expect(gaps).toEqual({ kill: wait, 'kill-leader': wait });
  });

  it('name a kill of the leader so only when nothing else was wrong', () => {
    const history = commits([0, 10], [300, 310]);
    const done = [kill(100, 'node-1', 'node-1'), kill(105, 'node-2', 'node-1')];
    expect(Object.keys(figuresOf(history, done).gaps)).toEqual(['kill']);
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

it('faults are drawn by the seed alone, each kind of each row', () => {
  for (const { weights } of ROWS) {
    const draw = (): readonly unknown[] => {
      const random = new Rng(7, 'faults');
      return Array.from({ length: 400 }, () => drawFault(random, weights));
    };
    const faults = draw() as readonly { readonly kind: string }[];
    expect(draw()).toEqual(faults);
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(Object.keys(weights)));
  }
});

it('whoever sleeps wakes when leases and fences are over', () => {
  const random = new Rng(7, 'faults');
  const drawn = Array.from({ length: 400 }, () => drawFault(random, { sleep: 1 }));
  const durations = drawn.flatMap((fault) => (fault.kind === 'sleep' ? [fault.durationMs] : []));
  expect(Math.min(...durations)).toBeGreaterThan(Math.max(LIMITS.leaseMs, LIMITS.fenceMs));
});
