// Goal: work that is requested again while it runs is done once more, and never twice at the same time. Method: an
// action that ends when the test allows it.
import { expect, it } from 'vitest';
import { coalesced } from './run.ts';

it('coalesced work runs once more for all calls during a run, and never twice at the same time', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const call = coalesced(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  const results = [call(), call(), call()];
  expect(runs.length).toBe(1);
  runs[0]?.resolve();
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve();
  await Promise.all(results);
  expect(runs.length).toBe(2);

  const next = call();
  expect(runs.length).toBe(3);
  runs[2]?.reject(new Error('it failed'));
  await expect(next).rejects.toThrow('it failed');
  void call();
  expect(runs.length).toBe(4);
});
