// A small project in a temporary folder with the real bootstrap.mjs, and a fake npm that only records its calls and
// creates the files of an install.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp-dir.ts';
import { endWithFile, endWithTest, testDir } from './test-scope.ts';

const root = resolve(import.meta.dirname, '../..');
const LOCK = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/w': { version: '1.0.0', optional: true },
  },
};
// Without the types of Node.js, which would take most of the compile time.
export const SERVER = `
  declare const process: any, setInterval: any, console: any;
  process.on('SIGTERM', () => { console.log('drained'); process.exit(7); });
  const bootstrap = process.env.CAIRN_BOOTSTRAP;
  console.log(JSON.stringify({ event: 'ready', pid: process.pid, bootstrap, args: process.argv.slice(2) }));
  if (process.argv[2] === 'wait') setInterval(() => {}, 1000); else process.exitCode = Number(process.argv[2] ?? 0);
`;
const OTHER_ENTRIES = [
  'src/main/node/core-worker.ts',
  'src/main/node/batch-worker.ts',
  'src/main/archive/archive-worker.ts',
  'src/storage/log-worker.ts',
  'src/cluster/front/scrub-worker.ts',
  'src/wasm/executors/executor-worker.ts',
  'operator/src/main.ts',
];
const ASSETS = 'src/ui/html/assets';
// The result of `npm ci`. Its node binary is the Node.js of this test, but reports the version of the package.
const NPM = `
  import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
  if (process.argv[2] !== 'ci') process.exit(8);
  appendFileSync('installs', '.');
  console.error('npm at level ' + process.env.npm_config_loglevel);
  if (process.env.NPM_EXIT) process.exit(Number(process.env.NPM_EXIT));
  if (process.env.NPM_MS) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.NPM_MS));
  rmSync('node_modules', { recursive: true, force: true });
  mkdirSync('node_modules/node/bin', { recursive: true });
  const node = '#!/bin/sh\\nNODE_COMES_FROM=package exec "${process.execPath}" "$@"\\n';
  if (!process.env.NPM_WITHOUT_NODE) writeFileSync('node_modules/node/bin/node', node, { mode: 0o755 });
  for (const name of ['typescript', 'rolldown']) symlinkSync(${JSON.stringify(join(root, 'node_modules'))} + '/' + name, 'node_modules/' + name);
  cpSync('package-lock.json', 'node_modules/.package-lock.json');
`;
export const OUTPUT_ONLY: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
// Without process.execve, bootstrap starts a child process and forwards signals.
export const WITHOUT_EXECVE = '--import=data:text/javascript,delete process.execve';

const ENV: NodeJS.ProcessEnv = { PATH: process.env['PATH'], npm_execpath: 'npm.mjs' };

export interface Project {
  readonly path: string;
  readonly installs: () => number;
  readonly env: NodeJS.ProcessEnv;
}

export function freshProject(env: NodeJS.ProcessEnv = {}): Project {
  return { ...projectIn(testDir()), env: { ...ENV, ...env } };
}

function projectIn(path: string): Project {
  mkdirSync(join(path, 'scripts'));
  mkdirSync(join(path, 'src/main'), { recursive: true });
  mkdirSync(join(path, 'proto'));
  for (const name of ['bootstrap.mjs', 'bundle.ts']) cpSync(join(root, 'scripts', name), join(path, 'scripts', name));
  writeFileSync(join(path, 'src/main/main.ts'), SERVER);
  for (const entry of OTHER_ENTRIES) {
    mkdirSync(dirname(join(path, entry)), { recursive: true });
    writeFileSync(join(path, entry), 'export {};\n');
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
  writeFileSync(join(path, 'npm.mjs'), NPM);
  return projectAt(path);
}

function projectAt(path: string): Project {
  const installs = (): number =>
    existsSync(join(path, 'installs')) ? readFileSync(join(path, 'installs'), 'utf8').length : 0;
  return { path, installs, env: ENV };
}

/** The built files, at any depth. */
export function filesIn(dist: string): readonly string[] {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== '.built-from' && statSync(join(dist, name)).isFile())
    .toSorted();
}

// The command line of `npm start`.
function startScript(): string {
  const manifest: { scripts: { start: string } } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return manifest.scripts.start;
}

/** Created once per test file and then copied with all file times, because installing and building take seconds. */
function copyOf(template: { path?: string }, make: (project: Project) => void): Project {
  if (template.path === undefined) {
    const dir = tempDir();
    endWithFile(() => {
      dir[Symbol.dispose]();
      delete template.path;
    });
    template.path = dir.path;
    make(projectIn(dir.path));
  }
  const path = testDir();
  spawnSync('cp', ['-a', `${template.path}/.`, path]);
  return projectAt(path);
}

const installed: { path?: string } = {};
const built: { path?: string } = {};

export function installedProject(): Project {
  return copyOf(installed, (project) => {
    run(project, ['run', 'hello.mjs']);
    rmSync(join(project.path, 'installs'));
  });
}

export function builtProject(): Project {
  return copyOf(built, (project) => {
    run(project, ['start']);
    rmSync(join(project.path, 'installs'));
  });
}

export function run(
  project: Project,
  args: readonly string[],
  option?: string,
): { status: number | null; stdout: string; stderr: string } {
  const argv = [...(option === undefined ? [] : [option]), 'scripts/bootstrap.mjs', ...args];
  return spawnSync(process.execPath, argv, { cwd: project.path, env: project.env, encoding: 'utf8', timeout: 15_000 });
}

export function launch(project: Project, args: readonly string[], option?: string): ChildProcess {
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

export function startWaiting(project: Project, option?: string): Promise<Waiting> {
  return waitUntilReady(launch(project, ['start', 'wait'], option));
}

export async function waitUntilReady(child: ChildProcess): Promise<Waiting> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk));
  if (child.stdout !== null) await once(child.stdout, 'data');
  const ready: Waiting['ready'] = JSON.parse(text.split('\n')[0] ?? '');
  onTestFinished(() => killIfAlive(ready.pid));
  return { child, ready, output: () => text };
}

// Kills the server of a failed test.
export function killIfAlive(pid: number): void {
  if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
}

export function writeJson(path: string, value: unknown): void {
  writeFileSync(path, JSON.stringify(value));
}
