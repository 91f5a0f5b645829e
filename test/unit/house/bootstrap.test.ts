// Goal: bootstrap installs and compiles exactly when it must, and then replaces itself by the program (H1-H4). Method:
// small projects with a stand-in for npm; bootstrap.long.test.ts has the slow cases.
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  builtProject,
  freshProject,
  installedProject,
  run,
  startWaiting,
  WITHOUT_EXECVE,
  writeJson,
} from '../../support/bootstrap-project.ts';

const HELLO = ['run', 'hello.mjs'];

describe('installing', () => {
  it('runs npm ci once in a fresh clone, and lets it report only errors (H2)', () => {
    const project = freshProject();
    const { status, stdout, stderr } = run(project, HELLO);
    expect([status, stdout, stderr]).toEqual([0, 'hello\n', expect.stringContaining('npm at level error\n')]);
    expect(run(project, HELLO).status).toBe(0);
    expect(project.installs()).toBe(1);
  });

  it('runs npm ci again when the lock file differs, or an install did not finish (H2)', () => {
    const project = installedProject();
    const locks = [
      { 'node_modules/a': { version: '1.0.1', integrity: 'x' } },
      { 'node_modules/a': { version: '1.0.1', integrity: 'y' } },
      { 'node_modules/a': { version: '1.0.1', integrity: 'y' }, 'node_modules/b': { version: '1.0.0' } },
      { '': {} },
    ];
    for (const [changes, packages] of locks.entries()) {
      writeJson(join(project.path, 'package-lock.json'), { packages });
      expect(run(project, HELLO).status).toBe(0);
      expect(project.installs()).toBe(changes + 1);
    }
    rmSync(join(project.path, 'node_modules/.package-lock.json'));
    run(project, HELLO);
    expect(project.installs()).toBe(locks.length + 1);
  });

  it('does not change a linked node_modules (H2)', () => {
    const project = installedProject();
    const modules = join(project.path, 'node_modules');
    cpSync(modules, join(project.path, 'elsewhere'), { recursive: true, verbatimSymlinks: true });
    rmSync(modules, { recursive: true });
    symlinkSync('elsewhere', modules);
    writeJson(join(project.path, 'package-lock.json'), { packages: {} });
    expect(run(project, HELLO).status).toBe(0);
    expect(project.installs()).toBe(0);
  });

  it.each([
    ['npm ci failed with exit code 9', { NPM_EXIT: '9' }],
    ['allowScripts', { NPM_WITHOUT_NODE: '1' }],
  ])('stops with the reason: %s', (reason, env) => {
    const { status, stderr } = run(freshProject(env), HELLO);
    expect([status, stderr]).toEqual([1, expect.stringContaining(reason)]);
  });
});

it('running uses the Node of node_modules, which is first on the path (H1)', () => {
  const project = installedProject();
  writeFileSync(join(project.path, 'hello.mjs'), 'console.log(process.env.NODE_COMES_FROM, process.env.PATH);');
  expect(run(project, HELLO).stdout).toMatch(`package ${project.path}/node_modules/.bin:`);
  expect(run(project, ['dance'])).toMatchObject({ status: 1, stderr: expect.stringContaining('Usage:') });
});

it.each([
  ['in place of itself', undefined],
  ['as a child', WITHOUT_EXECVE],
])('running passes arguments, the exit code and SIGTERM when it runs the program %s (H3)', async (_how, option) => {
  const project = builtProject();
  const { status, stdout, stderr } = run(project, ['start', '3', '--http-port', '0'], option);
  expect(JSON.parse(stdout)).toMatchObject({ args: ['3', '--http-port', '0'] });
  expect([status, stderr]).toEqual([3, '']);
  const { child, ready, output } = await startWaiting(project, option);
  expect(ready.pid === child.pid).toBe(option === undefined);
  child.kill('SIGTERM');
  expect((await once(child, 'close'))[0]).toBe(7);
  expect(output()).toContain('drained');
  expect(existsSync(`/proc/${ready.pid}`)).toBe(false);
});

it('starting founds a cluster by itself only without a peer port and seeds (K1)', () => {
  const project = builtProject();
  const founding = (args: readonly string[], env: NodeJS.ProcessEnv = {}): unknown => {
    const { stdout } = run({ ...project, env: { ...project.env, ...env } }, ['start', '0', ...args]);
    const ready: { readonly bootstrap?: string } = JSON.parse(stdout);
    return ready.bootstrap;
  };
  expect(founding(['--http-port=0'])).toBe('alone');
  expect(founding([], { CAIRN_BOOTSTRAP: 'never' })).toBe('never');
  for (const args of [['--peer-port', '0'], ['--peer-port=0'], ['--join', 'n1:1'], ['--join=n1:1']]) {
    expect(founding(args)).toBeUndefined();
  }
  for (const name of ['CAIRN_PEER_PORT', 'CAIRN_JOIN']) expect(founding([], { [name]: 'x' })).toBeUndefined();
  expect(founding(['--peer-port=0'], { CAIRN_BOOTSTRAP: 'alone' })).toBe('alone');
});

it('building happens once after a source or a file of dist has changed (H2)', () => {
  const project = builtProject();
  const builds = (): boolean => run(project, ['start']).stderr.includes('Building');
  expect(builds()).toBe(false);
  utimesSync(join(project.path, 'src/main/main.ts'), 1, 1);
  rmSync(join(project.path, 'dist/assets/page.css'));
  expect([builds(), builds()]).toEqual([true, false]);
});

it('building keeps the old dist when src does not compile (H4)', () => {
  const project = builtProject();
  writeFileSync(join(project.path, 'src/main/main.ts'), 'const wrong: number = "text";\n');
  const { status, stderr } = run(project, ['start']);
  expect([status, stderr]).toEqual([1, expect.stringContaining('cannot be built from src')]);
  expect(readFileSync(join(project.path, 'dist/main.js'), 'utf8')).toContain('drained');
  expect(readdirSync(project.path).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
});
