// Goal: the command of the example says in a line what is wrong, and ends with the code for it. Method: the real
// process.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const MAIN = resolve(import.meta.dirname, '../../examples/git-history/main.ts');

const CACHE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

function run(args: readonly string[], path = process.env['PATH']): unknown {
  const options = { encoding: 'utf8', env: { ...CACHE, PATH: path, GIT_CEILING_DIRECTORIES: '/' } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', MAIN, ...args], options);
  return { status, stdout, stderr };
}

test('an unknown option is refused with the usage', () => {
  const stderr = expect.stringMatching(/^unknown option "--servr"; did you mean --server\?\n\nUsage: /);
  expect(run(['--servr=x'])).toEqual({ status: 2, stdout: '', stderr });
});

test('a directory without a repository is named in one line', () => {
  using dir = tempDir();
  const path = join(dir.path, 'plain');
  mkdirSync(path);
  const stderr = expect.stringMatching(/^git rev-list failed in \/.*\/plain: fatal: not a git repository.*\n$/);
  expect(run([path])).toEqual({ status: 1, stdout: '', stderr });
});
