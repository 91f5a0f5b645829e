// Goal: the operator has exactly the permissions that it needs. Method: the other tests of the operator run with API
// servers that record their requests, and the table of permissions is compared with them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { RIGHTS } from '../../../operator/src/rights.ts';
import { testDir } from '../../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDERS = ['access', 'certificates', 'cluster', 'components', 'databases', 'process'];
/**
 * Owners block the deletion of their objects, and some API servers require for it the permission to update the
 * finalizers of the owner. No request of the operator does that.
 */
const WITHOUT_REQUEST = ['cairn.dev cairnclusters/finalizers update', 'cairn.dev eventaccesses/finalizers update'];
/** Kinds that only the tests use. */
const OF_TESTS = /^example\.dev /;

it('the permissions of the operator equal the requests of its tests', { timeout: 600_000 }, () => {
  const file = join(testDir(), 'requests');
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...FOLDERS.map((folder) => `test/operator/${folder}/`)];
  const env = { ...process.env, TEST_REQUESTS: file };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${stdout}\n${stderr}`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const requested = [...new Set(lines)].filter((line) => !OF_TESTS.test(line));
  const allowed = Object.values(RIGHTS).flatMap((rights: (typeof RIGHTS)[keyof typeof RIGHTS]) =>
    rights.flatMap(({ apiGroup, resource, verbs }) => verbs.map((verb) => `${apiGroup} ${resource} ${verb}`)),
  );
  expect([...requested, ...WITHOUT_REQUEST].toSorted()).toEqual(allowed.toSorted());
});
