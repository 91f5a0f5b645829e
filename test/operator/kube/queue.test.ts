// Goal: a queue processes every added key, with one worker per key, in order, and with backoff. Method: seeded keys,
// delays and failures, compared with the adds; and examples.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedQueue, type QueueOptions, type Work } from '../../../operator/src/kube/index.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { runs } from '../../support/runs.ts';

function queueOf(work: Work, { seed = 1, ...options }: Partial<QueueOptions> & { seed?: number } = {}) {
  const runtime = new ManualRuntime(seed);
  const queue = new KeyedQueue(work, { runtime, ...options });
  return { runtime, queue };
}

it('a queue processes each key after its last add, with one worker, until it is closed (KM9, KM12)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const working = new Set<string>();
    const [added, begun] = [new Map<string, number>(), new Map<string, number>()];
    const twice: string[] = [];
    let mostAtOnce = 0;
    const work: Work = async (key) => {
      if (working.has(key)) twice.push(key);
      working.add(key);
      begun.set(key, (begun.get(key) ?? 0) + 1);
      added.delete(key);
      mostAtOnce = Math.max(mostAtOnce, working.size);
      await new Promise<void>((resolve) => void runtime.after(chance.below(5_000), resolve));
      working.delete(key);
      if (chance.chance(30)) throw new Error('no');
      if (chance.chance(20)) queue.addAfter(key, chance.below(10_000));
    };
    const { runtime, queue } = queueOf(work, { seed, workersMax: 3 });
    const { chance } = runtime;
    for (let step = 0; step < 100; step += 1) {
      const key = `key-${chance.below(6)}`;
      if (chance.chance(20)) queue.addAfter(key, chance.below(5_000));
      else queue.add(key);
      added.set(key, step);
      await runtime.advance(chance.below(2_000));
    }
    // Longer than all work, delays and waits of added keys.
    await runtime.advance(60_000);
    expect([...added.keys()]).toEqual([]);
    queue.add('last');
    await runtime.advance(0);
    const closed = queue.close().then(() => working.size);
    const before = [...begun.values()];
    queue.add('late');
    await runtime.advance(600_000);
    expect([[...begun.values()], await closed, queue.depth, twice]).toEqual([before, 0, 0, []]);
    expect(mostAtOnce).toBeLessThanOrEqual(3);
  });
  await fc.assert(property, { numRuns: runs(200), endOnFailure: true });
});

describe('a queue', () => {
  it('starves no key when another one is added repeatedly (KM10)', async () => {
    const order: string[] = [];
    const { runtime, queue } = queueOf(
      async (key) => {
        order.push(key);
        if (order.length < 9) queue.add('busy');
      },
      { workersMax: 1 },
    );
    for (const key of ['busy', 'one', 'two', 'one']) queue.add(key);
    await runtime.advance(1);
    expect(order.slice(0, 5)).toEqual(['busy', 'one', 'two', 'busy', 'busy']);
  });

  it('retries a failing key with exponential backoff, and after an add within its minimum (KM11)', async () => {
    const begunMs: number[] = [];
    let isBroken = true;
    const { runtime, queue } = queueOf(async () => {
      begunMs.push(runtime.nowMs());
      if (isBroken) throw new Error('no');
    });
    queue.add('key');
    await runtime.advance(3_600_000);
    const waits = begunMs.slice(1).map((ms, at) => ms - (begunMs[at] ?? 0));
    for (const [at, ms] of waits.entries()) {
      const base = Math.min(500 * 2 ** at, 300_000);
      expect(ms / base).toBeGreaterThanOrEqual(0.5);
      expect(ms / base).toBeLessThan(1.5);
    }
    expect(begunMs.length).toBeLessThan(30);
    isBroken = false;
    queue.add('key');
    const addedMs = runtime.nowMs();
    await runtime.advance(500);
    expect([begunMs.at(-1), queue.failing]).toEqual([addedMs + 500, 0]);
    queue.add('key');
    await runtime.advance(0);
    expect(begunMs.at(-1)).toBe(addedMs + 500);
    expect(begunMs.filter((ms) => ms === addedMs + 500)).toHaveLength(2);
  });

  it('does not spin when failing work adds its own key (KM11)', async () => {
    let count = 0;
    const { runtime, queue } = queueOf(async (key) => {
      count += 1;
      queue.add(key);
      await new Promise<void>((resolve) => void runtime.after(1, resolve));
      throw new Error('no');
    });
    queue.add('key');
    await runtime.advance(60_000);
    expect(count).toBeLessThan(125);
  });

  it('processes a key once, at the earliest of several times', async () => {
    const begunMs: number[] = [];
    const { runtime, queue } = queueOf(async () => {
      begunMs.push(runtime.nowMs());
      queue.addAfter('key', 10_000);
    });
    for (const ms of [5_000, 1_000, 3_000]) queue.addAfter('key', ms);
    await runtime.advance(11_500);
    expect(begunMs).toEqual([1_000, 11_000]);
  });
});
