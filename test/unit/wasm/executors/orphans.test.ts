// Goal: a guest ends when its node is killed (ADR 0087). Method: executors in another process, which is killed while
// its guest loops with fuel for an hour.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { endWithTest } from '../../../support/test-scope.ts';

const CHILD = join(import.meta.dirname, '../../../support/guest-loop-child.ts');

test('a guest ends when its node is killed', { timeout: 60_000 }, async () => {
  const child = fork(CHILD, { execArgv: ['--conditions=source'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  endWithTest(child);
  const [pids] = (await once(child, 'message')) as [readonly number[]];
  expect(pids).toHaveLength(1);
  const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`);
  expect(pids.filter(isThere)).toEqual(pids);
  child.kill('SIGKILL');
  await eventually(() => expect(pids.filter(isThere)).toEqual([]));
});
