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

test('--help prints how the example is called', () => {
  expect(run(['--help'])).toEqual({ status: 0, stdout: expect.stringMatching(/^Usage: /), stderr: '' });
});

test('an unknown option is refused with the usage', () => {
  const stderr = expect.stringMatching(/^"--servr" is no option; did you mean --server\?\n\nUsage: /);
  expect(run(['--servr=x'])).toEqual({ status: 2, stdout: '', stderr });
});

test('a directory without a repository is named in one line', () => {
  using dir = tempDir();
  const path = join(dir.path, 'plain');
  mkdirSync(path);
  const stderr = expect.stringMatching(/^git rev-list failed in \/.*\/plain: fatal: not a git repository.*\n$/);
  expect(run([path])).toEqual({ status: 1, stdout: '', stderr });
});

test('a missing git is said in one line', () => {
  using dir = tempDir();
  expect(run([dir.path], dir.path)).toEqual({
    status: 1,
    stdout: '',
    stderr: 'git could not be run: spawn git ENOENT\n',
  });
});

test('a missing node is said in one line, with its address', () => {
  using dir = tempDir();
  const git = (...args: readonly string[]): void => {
    const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org'];
    const { status, stderr } = spawnSync('git', ['-C', dir.path, ...identity, ...args], { encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({ status: 0 });
  };
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message=First');
  const stderr = expect.stringMatching(/^No node answers at 127\.0\.0\.1:1: start one with npm start, .*\n$/);
  // Nothing listens on port 1.
  expect(run(['--server=127.0.0.1:1', dir.path])).toEqual({ status: 1, stdout: '', stderr });
});
