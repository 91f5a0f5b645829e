// Goal: bootstrap installs and compiles exactly when it must, and stands aside for the program it starts (H1-H4).
// Method: a project of a few files in a temporary folder, the real bootstrap.mjs, and a stand-in for npm that only
// writes down that it was called and lays out what an install would.
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const root = resolve(import.meta.dirname, '../../..');
const LOCK = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/w': { version: '1.0.0', optional: true },
  },
};
// Without the types of Node, which would take most of the time of compiling it.
const SERVER = `
  declare const process: any, setInterval: any, console: any;
  process.on('SIGTERM', () => { console.log('drained'); process.exit(7); });
  console.log(JSON.stringify({ event: 'ready', pid: process.pid, node: process.execPath, args: process.argv.slice(2) }));
  if (process.argv[2] === 'wait') setInterval(() => {}, 1000); else process.exitCode = Number(process.argv[2] ?? 0);
`;
const OTHER_THREADS = [
  'main/core-worker.ts',
  'main/batch-worker.ts',
  'storage/log-worker.ts',
  'storage/scrub-worker.ts',
  'wasm/executors/executor-worker.ts',
];
const ASSETS = 'src/transport/http/rendering/html/assets';
// What npm ci would leave behind. The Node in it is the Node of this test, and says of itself that it is the package's.
const NPM = `
  import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
  if (process.argv[2] !== 'ci') process.exit(8);
  appendFileSync('installs', '.');
  console.error('npm at level ' + process.env.npm_config_loglevel);
  if (process.env.NPM_EXIT) process.exit(Number(process.env.NPM_EXIT));
  if (process.env.NPM_HANGS) await new Promise((done) => setTimeout(done, 30_000));
  if (process.env.NPM_MS) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.NPM_MS));
  rmSync('node_modules', { recursive: true, force: true });
  mkdirSync('node_modules/node/bin', { recursive: true });
  const node = '#!/bin/sh\\nNODE_COMES_FROM=package exec "${process.execPath}" "$@"\\n';
  if (!process.env.NPM_WITHOUT_NODE) writeFileSync('node_modules/node/bin/node', node, { mode: 0o755 });
  for (const name of ['typescript', 'rolldown']) symlinkSync(${JSON.stringify(join(root, 'node_modules'))} + '/' + name, 'node_modules/' + name);
  cpSync('package-lock.json', 'node_modules/.package-lock.json');
`;
const OUTPUT_ONLY = ['ignore', 'pipe', 'ignore'] as const satisfies StdioOptions;
// Under a Node without process.execve, bootstrap starts a child and passes signals on.
const WITHOUT_EXECVE = '--import=data:text/javascript,delete process.execve';

interface Project {
  readonly path: string;
  readonly installs: () => number;
  readonly env: NodeJS.ProcessEnv;
}

describe('installing', () => {
  it('runs npm ci once in a fresh clone, and not again (H2)', () => {
    const project = freshProject();
    expect(run(project, ['run', 'hello.mjs'])).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(run(project, ['run', 'hello.mjs']).status).toBe(0);
    expect(project.installs()).toBe(1);
  });

  it.each([
    ['a version differs', { 'node_modules/a': { version: '1.0.1', integrity: 'x' } }],
    ['a hash differs', { 'node_modules/a': { version: '1.0.0', integrity: 'y' } }],
    ['a package is new', { ...LOCK.packages, 'node_modules/b': { version: '1.0.0' } }],
    ['a package is gone', { '': {} }],
  ])('runs npm ci again when %s (H2)', (_what, packages) => {
    const project = installedProject();
    writeJson(join(project.path, 'package-lock.json'), { packages });
    expect(run(project, ['run', 'hello.mjs']).status).toBe(0);
    expect(project.installs()).toBe(1);
  });

  it('runs npm ci again after an install that did not finish (H2)', () => {
    const project = installedProject();
    rmSync(join(project.path, 'node_modules/.package-lock.json'));
    expect(run(project, ['run', 'hello.mjs']).status).toBe(0);
    expect(project.installs()).toBe(1);
  });

  it('leaves a linked node_modules to its owner (H2)', () => {
    const project = installedProject();
    cpSync(join(project.path, 'node_modules'), join(project.path, 'elsewhere'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    rmSync(join(project.path, 'node_modules'), { recursive: true });
    symlinkSync('elsewhere', join(project.path, 'node_modules'));
    writeJson(join(project.path, 'package-lock.json'), { packages: {} });
    expect(run(project, ['run', 'hello.mjs']).status).toBe(0);
    expect(project.installs()).toBe(0);
  });

  it('installs once when several begin at once, and all of them go on (H5)', async () => {
    const project = freshProject({ NPM_MS: '1000' });
    const runs = Array.from({ length: 4 }, () => launch(project, ['run', 'hello.mjs']));
    const codes = await Promise.all(runs.map(async (child) => (await once(child, 'close'))[0] as number));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(project.installs()).toBe(1);
    expect(existsSync(join(project.path, '.installing'))).toBe(false);
  });

  it('installs though an earlier install was killed, and waits for what that one left at work (H5)', async () => {
    const project = freshProject();
    const dead = spawnSync(process.execPath, ['--version']).pid;
    const npm = spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 1500)']);
    endWithTest(npm);
    writeFileSync(join(project.path, '.installing'), `${dead} ${npm.pid}`);
    const child = launch(project, ['run', 'hello.mjs']);
    await once(npm, 'exit');
    expect(project.installs()).toBe(0);
    expect((await once(child, 'close'))[0]).toBe(0);
    writeFileSync(join(project.path, '.installing'), `${dead}`);
    rmSync(join(project.path, 'node_modules'), { recursive: true });
    expect(run(project, ['run', 'hello.mjs']).stderr).not.toContain('Waiting');
    expect(project.installs()).toBe(2);
  });

  it('ends npm with it when it is told to end (H3)', async () => {
    const project = freshProject({ NPM_HANGS: '1' });
    const child = launch(project, ['run', 'hello.mjs']);
    await expect.poll(() => project.installs(), { timeout: 10_000 }).toBe(1);
    const [, npm] = readFileSync(join(project.path, '.installing'), 'utf8').split(' ');
    onTestFinished(() => killIfAlive(Number(npm)));
    child.kill('SIGTERM');
    expect((await once(child, 'close'))[0]).toBe(1);
    expect(existsSync(`/proc/${npm}`)).toBe(false);
    expect(existsSync(join(project.path, '.installing'))).toBe(false);
  });

  it.each([
    ['of errors alone', {}, 'error'],
    ['of what it was set to', { npm_config_loglevel: 'verbose' }, 'verbose'],
  ])('has npm ci speak %s', (_what, env, level) => {
    const { stderr } = run(freshProject(env), ['run', 'hello.mjs']);
    expect(stderr).toContain(`npm at level ${level}\n`);
  });

  it('stops with the reason when npm ci fails', () => {
    const project = freshProject({ NPM_EXIT: '9' });
    const { status, stderr } = run(project, ['run', 'hello.mjs']);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('npm ci failed with exit code 9'),
    });
  });

  it('explains a blocked install script when Node 24 did not come', () => {
    const project = freshProject({ NPM_WITHOUT_NODE: '1' });
    const { status, stderr } = run(project, ['run', 'hello.mjs']);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('allowScripts') });
  });
});

describe('running', () => {
  it('uses the Node of node_modules, with it first on the path (H1)', () => {
    const project = installedProject();
    writeFileSync(join(project.path, 'hello.mjs'), 'console.log(process.env.NODE_COMES_FROM, process.env.PATH);');
    const { stdout } = run(project, ['run', 'hello.mjs']);
    expect(stdout).toMatch(`package ${project.path}/node_modules/.bin:`);
  });

  it('explains itself when the command is unknown', () => {
    expect(run(installedProject(), ['dance'])).toMatchObject({ status: 1, stderr: expect.stringContaining('Usage:') });
  });

  it.each([
    ['in place of itself', undefined],
    ['as a child', WITHOUT_EXECVE],
  ])('hands over arguments and returns the exit code when it runs the program %s (H3)', (_how, option) => {
    const { status, stdout, stderr } = run(builtProject(), ['start', '3', '--http-port', '0'], option);
    expect(JSON.parse(stdout)).toMatchObject({ args: ['3', '--http-port', '0'] });
    expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
  });

  it('leaves no process between the caller and the server where Node can replace itself (H3)', async () => {
    const { child, ready } = await startWaiting(builtProject());
    expect(ready.pid).toBe(child.pid);
  });

  it.each([
    ['in place of itself', undefined],
    ['as a child', WITHOUT_EXECVE],
  ])('lets SIGTERM drain the server when it runs %s, and leaves no orphan (H3)', async (_how, option) => {
    const { child, ready, output } = await startWaiting(builtProject(), option);
    child.kill('SIGTERM');
    const [code] = await once(child, 'close');
    expect(code).toBe(7);
    expect(output()).toContain('drained');
    expect(existsSync(`/proc/${ready.pid}`)).toBe(false);
  });

  it('is drained by a SIGTERM to npm start, with no shell in between to stop at (H3)', async () => {
    const project = builtProject();
    const child = spawn('npm', ['start', '--silent', '--', 'wait'], { cwd: project.path, stdio: OUTPUT_ONLY });
    endWithTest(child);
    const { ready } = await waitUntilReady(child);
    child.kill('SIGTERM');
    const [code] = await once(child, 'close');
    expect(code).toBe(7);
    expect(existsSync(`/proc/${ready.pid}`)).toBe(false);
  });

  it('has nothing on stdout but what the program writes, when npm is silent as README.md says', () => {
    const npm = ['start', '--silent', '--', '3'];
    const { status, stdout } = spawnSync('npm', npm, { cwd: builtProject().path, encoding: 'utf8' });
    expect(status).toBe(3);
    expect(stdout.trimEnd().split('\n')).toEqual([expect.stringMatching(/^\{.*\}$/)]);
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('`npm start --silent` writes none');
  });

  it('reports the death of a child by a signal as the shell does (H3)', async () => {
    const { child, ready } = await startWaiting(builtProject(), WITHOUT_EXECVE);
    process.kill(ready.pid, 'SIGKILL');
    const [code] = await once(child, 'close');
    expect(code).toBe(137);
  });
});

describe('building', () => {
  // It builds five times.
  it('builds once, and again after a change, an addition and a removal (H2)', { timeout: 60_000 }, () => {
    const project = builtProject();
    const source = join(project.path, 'src/main/main.ts');
    const builds = (): number => (run(project, ['start']).stderr.includes('Building') ? 1 : 0);
    expect(builds()).toBe(0);
    utimesSync(source, 1, 1);
    expect([builds(), builds()]).toEqual([1, 0]);
    writeFileSync(join(project.path, 'src/main/extra.ts'), 'export {};\n');
    expect([builds(), builds()]).toEqual([1, 0]);
    rmSync(join(project.path, 'src/main/extra.ts'));
    expect([builds(), builds()]).toEqual([1, 0]);
    utimesSync(join(project.path, 'scripts/bundle.ts'), 1, 1);
    expect([builds(), builds()]).toEqual([1, 0]);
  });

  it('builds again when a file of dist is gone or has another length (H2)', { timeout: 60_000 }, () => {
    const project = builtProject();
    const builds = (): number => (run(project, ['start']).stderr.includes('Building') ? 1 : 0);
    const dist = join(project.path, 'dist');
    const files = filesIn(dist);
    rmSync(join(dist, 'scrub-worker.js'));
    expect([builds(), builds()]).toEqual([1, 0]);
    rmSync(join(dist, 'assets/page.css'));
    expect([builds(), builds()]).toEqual([1, 0]);
    writeFileSync(join(dist, 'main.js'), '');
    expect([builds(), builds()]).toEqual([1, 0]);
    writeFileSync(join(dist, 'else'), '');
    expect(builds()).toBe(0);
    rmSync(join(dist, 'else'));
    expect(filesIn(dist)).toEqual(files);
  });

  it('keeps the old dist when src does not compile (H4)', () => {
    const project = builtProject();
    writeFileSync(join(project.path, 'src/main/main.ts'), 'const wrong: number = "text";\n');
    const { status, stderr } = run(project, ['start']);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('cannot be built from src') });
    expect(readFileSync(join(project.path, 'dist/main.js'), 'utf8')).toContain('drained');
    expect(readdirSync(project.path).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
  });

  it('keeps the old dist when a thread is started that is not built (H4)', () => {
    const project = builtProject();
    writeFileSync(join(project.path, 'src/main/main.ts'), `${SERVER} console.log('./lost-worker.js');`);
    const { status, stderr } = run(project, ['start']);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('not built: lost-worker') });
    expect(readFileSync(join(project.path, 'dist/main.js'), 'utf8')).not.toContain('lost-worker');
  });

  it('makes the same bytes of the same sources', () => {
    const project = builtProject();
    const dist = join(project.path, 'dist');
    const files = (): readonly string[] =>
      filesIn(dist).map((name) => `${name}\n${readFileSync(join(dist, name), 'utf8')}`);
    const before = files();
    expect(run(project, ['build']).status).toBe(0);
    expect(files()).toEqual(before);
  });

  it('gives two starts at once a whole dist each (H4)', async () => {
    const project = builtProject();
    utimesSync(join(project.path, 'src/main/main.ts'), 1, 1);
    const starts = [launch(project, ['start', '0']), launch(project, ['start', '0'])];
    const codes = await Promise.all(starts.map(async (child) => (await once(child, 'close'))[0] as number));
    expect(codes).toEqual([0, 0]);
    expect(readdirSync(project.path).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
  });
});

function freshProject(env: NodeJS.ProcessEnv = {}): Project {
  const path = testDir();
  mkdirSync(join(path, 'scripts'));
  mkdirSync(join(path, 'src/main'), { recursive: true });
  for (const name of ['bootstrap.mjs', 'bundle.ts']) cpSync(join(root, 'scripts', name), join(path, 'scripts', name));
  writeFileSync(join(path, 'src/main/main.ts'), SERVER);
  for (const thread of OTHER_THREADS) {
    mkdirSync(dirname(join(path, 'src', thread)), { recursive: true });
    writeFileSync(join(path, 'src', thread), 'export {};\n');
  }
  mkdirSync(join(path, ASSETS), { recursive: true });
  writeFileSync(join(path, ASSETS, 'page.css'), 'body {}\n');
  writeFileSync(join(path, 'hello.mjs'), 'console.log("hello");');
  writeJson(join(path, 'package.json'), { type: 'module', scripts: { start: startScript() } });
  writeJson(join(path, 'package-lock.json'), LOCK);
  writeJson(join(path, 'tsconfig.json'), {
    compilerOptions: { module: 'nodenext', target: 'es2024', types: [], lib: ['es2024'], noEmit: true },
  });
  writeJson(join(path, 'tsconfig.build.json'), { extends: './tsconfig.json', include: ['src'] });
  const npm = join(path, 'npm.mjs');
  writeFileSync(npm, NPM);
  const installs = (): number =>
    existsSync(join(path, 'installs')) ? readFileSync(join(path, 'installs'), 'utf8').length : 0;
  return { path, installs, env: { PATH: process.env['PATH'], npm_execpath: npm, ...env } };
}

/** What was built, at any depth. */
function filesIn(dist: string): readonly string[] {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== '.built-from' && statSync(join(dist, name)).isFile())
    .toSorted();
}

// The line that npm start really runs.
function startScript(): string {
  const manifest: { scripts: { start: string } } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return manifest.scripts.start;
}

function installedProject(): Project {
  const project = freshProject();
  run(project, ['run', 'hello.mjs']);
  rmSync(join(project.path, 'installs'));
  return project;
}

function builtProject(): Project {
  const project = installedProject();
  run(project, ['start']);
  return project;
}

function run(
  project: Project,
  args: readonly string[],
  option?: string,
): { status: number | null; stdout: string; stderr: string } {
  const argv = [...(option === undefined ? [] : [option]), 'scripts/bootstrap.mjs', ...args];
  return spawnSync(process.execPath, argv, { cwd: project.path, env: project.env, encoding: 'utf8', timeout: 15_000 });
}

function launch(project: Project, args: readonly string[], option?: string): ChildProcess {
  const argv = [...(option === undefined ? [] : [option]), 'scripts/bootstrap.mjs', ...args];
  const child = spawn(process.execPath, argv, { cwd: project.path, env: project.env, stdio: OUTPUT_ONLY });
  endWithTest(child);
  return child;
}

interface Waiting {
  readonly child: ChildProcess;
  readonly ready: { readonly pid: number };
  readonly output: () => string;
}

function startWaiting(project: Project, option?: string): Promise<Waiting> {
  return waitUntilReady(launch(project, ['start', 'wait'], option));
}

async function waitUntilReady(child: ChildProcess): Promise<Waiting> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  if (child.stdout !== null) await once(child.stdout, 'data');
  const ready: Waiting['ready'] = JSON.parse(text.split('\n')[0] ?? '');
  onTestFinished(() => killIfAlive(ready.pid));
  return { child, ready, output: () => text };
}

// A test that fails leaves no server behind.
function killIfAlive(pid: number): void {
  if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, JSON.stringify(value));
}
