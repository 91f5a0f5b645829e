// Goal: a loop observes again after an irreversible action, only reports when nothing is left to do, and retries a pass
// that failed. Method: a controller with scripted plans, and a manual clock. The simulations of the controllers of
// Cairn run the loop under faults of the API server and kills of the operator.
import { expect, it, onTestFinished } from 'vitest';
import { untilCheck } from '../../../operator/src/kube/controller.ts';
import { type Controller, ControllerLoop, type Outcome, type Pass } from '../../../operator/src/kube/index.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';

const KEY = 'default/one';

/** Each pass takes the next plan, and then an empty one. Actions with `!` are irreversible, those with `?` fail. */
function start(...plans: readonly (readonly string[])[]) {
  const runtime = new ManualRuntime();
  const [log, passes, rest]: [string[], Pass[], (readonly string[])[]] = [[], [], [...plans]];
  const leader = { mayAct: true };
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const controller: Controller<readonly string[], string> = {
    name: 'things',
    observe: async () => {
      log.push('observe');
      return rest.shift() ?? [];
    },
    plan: (plan) => plan,
    act: async (action) => {
      log.push(action);
      if (action.endsWith('?')) throw new Error('refused');
    },
    isIrreversible: (action) => action.endsWith('!'),
    isWait: (action) => action === 'wait',
    report: async (_plan, { done, failure }: Outcome<string>) =>
      void log.push(`report ${done} ${failure?.message ?? ''}`),
  };
  const mayAct = (): boolean => leader.mayAct;
  const loop = new ControllerLoop(controller, { runtime, mayAct, onPass: (pass) => void passes.push(pass) });
  const source = { synced: Promise.resolve(), subscribe: (add: (key: string) => void) => (add(KEY), () => undefined) };
  const ended = loop.run([source], over.signal);
  return { runtime, log, passes, leader, controller, over, ended };
}

it('a loop observes again after an irreversible action (KM20)', async () => {
  const { runtime, log, passes } = start(['one', 'wait', 'two!', 'three'], ['three']);
  await runtime.advance(2_500);
  const expected = [
    'observe',
    'one',
    'wait',
    'two!',
    'report 3 ',
    'observe',
    'three',
    'report 1 ',
    'observe',
    'report 0 ',
  ];
  expect(log).toEqual(expected);
  expect(passes.map(({ controller, key, actions }) => [controller, key, actions])).toEqual([
    ['things', KEY, 2],
    ['things', KEY, 1],
    ['things', KEY, 0],
  ]);
});

it('a loop writes nothing when its process does not lead (KM20)', async () => {
  const { runtime, log, leader } = start(['one'], ['one'], ['one', 'two']);
  leader.mayAct = false;
  await runtime.advance(1_500);
  expect(log).toEqual(['observe', 'observe']);
  leader.mayAct = true;
  await runtime.advance(1_000);
  expect(log.slice(2)).toEqual(['observe', 'one', 'two', 'report 2 ']);
});

it('a loop with nothing to do reports, and observes each object every five minutes (KM21)', async () => {
  const { runtime, log } = start();
  await runtime.advance(900_001);
  expect(log).toEqual(Array.from({ length: 4 }, () => ['observe', 'report 0 ']).flat());
});

it('a loop with nothing to do observes each object within the time that its controller names (KM21)', async () => {
  const { runtime, log, controller } = start();
  controller.recheckMs = () => 5_000;
  await runtime.advance(15_001);
  expect(log).toEqual(Array.from({ length: 4 }, () => ['observe', 'report 0 ']).flat());
});

it('keys of the same age are checked at different moments, and each once in a period', () => {
  const [periodMs, minuteMs] = [300_000, 60_000];
  const keys = Array.from({ length: 50 }, (_, place) => `default/view-${place}`);
  const dueMs = keys.map((key) => untilCheck(key, periodMs, 0));
  const counts = [1, 2, 3, 4, 5].map((minute) => dueMs.filter((ms) => Math.ceil(ms / minuteMs) === minute).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(keys.length);
  expect(Math.max(...counts)).toBeLessThan(20);
  for (const [place, key] of keys.entries()) {
    const at = (nowMs: number): number => nowMs + untilCheck(key, periodMs, nowMs);
    const [first = 0] = dueMs.slice(place);
    expect([at(first - 1), at(first + 1)].map(Math.round)).toEqual([first, first + periodMs].map(Math.round));
  }
});

it('a failed pass ends, is reported and counted, and is retried with a backoff', async () => {
  const { runtime, log, passes } = start(...Array.from({ length: 9 }, () => ['one', 'two?', 'three']));
  await runtime.advance(1);
  expect(log).toEqual(['observe', 'one', 'two?', 'report 1 refused']);
  expect(passes).toMatchObject([{ actions: 1, failure: { message: 'refused' } }]);
  await runtime.advance(20_000);
  expect(passes.length).toBeGreaterThan(3);
  expect(passes.length).toBeLessThan(9);
});

it('a loop ends with its signal, after the last pass', async () => {
  const { runtime, log, over, ended } = start(['one']);
  await runtime.advance(1);
  over.abort();
  await ended;
  const before = [...log];
  await runtime.advance(900_000);
  expect(log).toEqual(before);
});
