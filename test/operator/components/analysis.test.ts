// Goal: the calls of its nodes decide whether a component exceeds its limits. Method: a table of calls.
import { describe, expect, it } from 'vitest';
import type { StateView } from '../../../operator/src/api/index.ts';
import { verdictOf } from '../../../operator/src/components/analysis.ts';

type Analysis = NonNullable<StateView['spec']['rollout']['analysis']>;

const CALLS = {
  answered: 980,
  failed: 15,
  trapped: 5,
  within: new Map([
    [1, 500],
    [2, 990],
    [4, 1000],
  ]),
};
const NO_CALLS = { answered: 0, failed: 0, trapped: 0, within: new Map<number, number>() };

describe('a component', () => {
  it.each<readonly [string, Partial<Analysis>, typeof CALLS | undefined, string]>([
    ['is not judged while a node is silent', { maxTraps: 9 }, undefined, 'unmeasured'],
    ['is not judged without a call', { maxTraps: 9 }, NO_CALLS, 'unmeasured'],
    ['may trap so often', { maxTraps: 5 }, CALLS, 'met'],
    ['has trapped too often', { maxTraps: 4 }, CALLS, '5 of 1000 calls trapped'],
    ['may fail so often', { maxErrorPercent: 2 }, CALLS, 'met'],
    ['has failed too often', { maxErrorPercent: 1 }, CALLS, '20 of 1000 calls failed'],
    ['is fast enough in 99 of 100 calls', { maxFoldMilliseconds: 2 }, CALLS, 'met'],
    ['is judged by the next lower bound', { maxFoldMilliseconds: 3 }, CALLS, 'met'],
    ['is too slow', { maxFoldMilliseconds: 1 }, CALLS, '500 of 1000 calls took more than 1 ms'],
    ['must meet all limits', { maxTraps: 9, maxFoldMilliseconds: 1 }, CALLS, '500 of 1000 calls took more than 1 ms'],
  ])('%s (KP7)', (_name, limits, calls, expected) => {
    const verdict = verdictOf({ onFailure: 'RollBack', ...limits }, calls);
    expect(verdict.kind === 'missed' ? verdict.message : verdict.kind).toBe(expected);
  });
});
