// Goal: the wait for a silent node counts only the time in which its own thread ran. Method: a thread that blocks.
import { expect, it } from 'vitest';
import { afterSilence } from '../../../src/transport/liveness.ts';

const WAIT_MS = 100;

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it('an answer that arrived while the thread was blocked counts', async () => {
  let isSilent = false;
  const stop = afterSilence(WAIT_MS, () => {
    isSilent = true;
  });
  standStill(2 * WAIT_MS);
  await turns(3);
  stop();
  expect(isSilent).toBe(false);
});

it('silence is reported once', async () => {
  let calls = 0;
  await new Promise<void>((resolve) => {
    afterSilence(10, () => {
      calls += 1;
      setTimeout(resolve, 10);
    });
  });
  expect(calls).toBe(1);
});

it('nothing is reported after an answer', async () => {
  let isSilent = false;
  const stop = afterSilence(10, () => {
    isSilent = true;
  });
  stop();
  await new Promise<void>((resolve) => {
    afterSilence(20, resolve);
  });
  expect(isSilent).toBe(false);
});
