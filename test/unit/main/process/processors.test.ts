// Goal: a node makes as many threads as its container has processors, in both forms of control groups, and what an
// operator has set stays. Method: files as Linux writes them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { widenThreadPool } from '../../../../src/main/process/node-pools.ts';
import { usableProcessors } from '../../../../src/main/process/processors.ts';
import { testDir } from '../../../support/test-scope.ts';

function groups(files: Readonly<Record<string, string>>): string {
  const dir = testDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

const [QUOTA, PERIOD] = ['cpu/cpu.cfs_quota_us', 'cpu/cpu.cfs_period_us'];

it.each<readonly [string, Readonly<Record<string, string>>, number]>([
  ['a limit of two', { 'cpu.max': '200000 100000\n' }, 2],
  ['a limit of one and a half', { 'cpu.max': '150000 100000\n' }, 2],
  ['a limit of a tenth', { 'cpu.max': '10000 100000\n' }, 1],
  ['a limit beyond the machine', { 'cpu.max': '6400000 100000\n' }, 8],
  ['no limit', { 'cpu.max': 'max 100000\n' }, 8],
  ['a limit of the first form', { [QUOTA]: '50000\n', [PERIOD]: '100000\n' }, 1],
  ['no limit of the first form', { [QUOTA]: '-1\n', [PERIOD]: '100000\n' }, 8],
  ['no control groups', {}, 8],
])('of eight processors with %s', (_case, files, expected) => {
  expect(usableProcessors(groups(files), 8)).toBe(expected);
});

it.each([
  [{}, 1, '8'],
  [{}, 2, '16'],
  [{}, 64, '16'],
  [{ UV_THREADPOOL_SIZE: '4' }, 64, '4'],
])('the pool of %j on %i processors has %s threads', (given, processors, expected) => {
  const env: NodeJS.ProcessEnv = { ...given };
  widenThreadPool(env, processors);
  expect(env['UV_THREADPOOL_SIZE']).toBe(expected);
});
