// Goal: the time for which a limit on processor time has stopped the container is counted, in both forms of control
// groups, and stays 0 where none is known. Method: files as Linux writes them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMetrics } from '#observability';
import { showThrottledTime } from '../../../../src/main/process/throttled-time.ts';
import { testDir } from '../../../support/test-scope.ts';

const SERIES = 'cairn_cpu_throttled_seconds_total';

test.each([
  ['the second', (seconds: number) => `usage_usec 9\nnr_throttled 3\nthrottled_usec ${seconds * 1e6}\n`],
  ['the first', (seconds: number) => `nr_periods 9\nnr_throttled 3\nthrottled_time ${seconds * 1e9}\n`],
])('time is counted in %s form, and what came since the last scrape is added', async (_, textOf) => {
  const file = join(testDir(), 'cpu.stat');
  const metrics = createMetrics({ runtime: false });
  showThrottledTime(metrics, ['/nowhere/cpu.stat', file]);
  const shown = async (): Promise<string | undefined> =>
    (await metrics.render()).body.split('\n').find((line) => line.startsWith(SERIES));
  expect(await shown()).toBe(`${SERIES} 0`);
  writeFileSync(file, 'usage_usec 9\n');
  expect(await shown()).toBe(`${SERIES} 0`);
  for (const seconds of [1.5, 1.5, 4]) {
    writeFileSync(file, textOf(seconds));
    expect(await shown()).toBe(`${SERIES} ${seconds}`);
  }
});
