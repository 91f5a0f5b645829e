// Goal: bench/builds.ts measures starts, and leaves no server behind, whatever happens. Method: the real tool, on
// builds of which the server is a stand-in that says it is ready and writes down its process id.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../../support/temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const NOTE = "appendFileSync('pids', `${process.pid}\\n`);";
const SERVES = `${NOTE} console.log(JSON.stringify({ event: 'ready', grpc: '127.0.0.1:1' })); setInterval(() => {}, 1000);`;
const FAILS = `${NOTE} process.exitCode = 3;`;

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly left: readonly number[];
  readonly started: number;
}

/** Runs the tool on a build for each of the servers; what it says, and which of their processes are left. */
function run(servers: readonly string[], ...args: readonly string[]): Run {
  using dir = tempDir();
  const contenders = servers.map((server, i) => {
    const root = join(dir.path, `build-${i}`);
    mkdirSync(root);
    writeFileSync(join(root, 'package.json'), '{ "type": "module", "bin": { "cairn": "server.js" } }');
    writeFileSync(join(root, 'server.js'), `import { appendFileSync } from 'node:fs'; ${server}`);
    return `b${i}=${root}`;
  });
  const tool = ['--conditions=source', resolve(ROOT, 'bench/builds.ts'), ...args, ...contenders];
  const { status, stdout, stderr } = spawnSync(process.execPath, tool, { encoding: 'utf8', cwd: dir.path });
  const pids = readFileSync(join(dir.path, 'pids'), 'utf8').trim().split('\n').map(Number);
  return { status, stdout, stderr, started: pids.length, left: pids.filter((pid) => existsSync(`/proc/${pid}`)) };
}

it('starts each build once more than it measures, and prints a row for each', () => {
  const { status, stdout, left, started } = run([SERVES, SERVES], '--measure=start', '--rounds=2', '--settle=0');
  expect({ status, left, started }).toEqual({ status: 0, left: [], started: 6 });
  expect(stdout).toMatch(/^\| b0 \|(?: \d+(?:\.\d)? \(\d+(?:\.\d)? to \d+(?:\.\d)?\) \|){6}$/m);
  expect(stdout).toMatch(/^\| b1 \|/m);
});

it.each(['--measure=start', '--measure=append'])('stops the others when one cannot start, with %s', (measure) => {
  const { status, stderr, left, started } = run([SERVES, FAILS, SERVES], measure);
  expect({ status, left, started }).toEqual({ status: 1, left: [], started: 2 });
  expect(stderr).toContain('the server ended with exit code 3 before it was ready');
});
