// Goal and method are those of bootstrap.test.ts; these tests need several processes, an installation or a build
// (H2-H5).
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  builtProject,
  filesIn,
  freshProject,
  killIfAlive,
  launch,
  OUTPUT_ONLY,
  run,
  SERVER,
  startWaiting,
  WITHOUT_EXECVE,
  waitUntilReady,
} from '../../support/bootstrap-project.ts';
import { endWithTest } from '../../support/test-scope.ts';

const HELLO = ['run', 'hello.mjs'];

it('installing happens once when several start at the same time, and all of them continue (H5)', async () => {
  const project = freshProject({ NPM_MS: '1000' });
  const runs = Array.from({ length: 4 }, () => launch(project, HELLO));
  const codes = await Promise.all(runs.map(async (child) => (await once(child, 'close'))[0] as number));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect([project.installs(), existsSync(join(project.path, '.installing'))]).toEqual([1, false]);
});

it('installing succeeds after an earlier one was killed, and waits for its npm that still runs (H5)', async () => {
  const project = freshProject();
  const dead = spawnSync(process.execPath, ['--version']).pid;
  const npm = spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 1500)']);
  endWithTest(npm);
  writeFileSync(join(project.path, '.installing'), `${dead} ${npm.pid}`);
  const child = launch(project, HELLO);
  await once(npm, 'exit');
  expect(project.installs()).toBe(0);
  expect((await once(child, 'close'))[0]).toBe(0);
  writeFileSync(join(project.path, '.installing'), `${dead}`);
  rmSync(join(project.path, 'node_modules'), { recursive: true });
  expect(run(project, HELLO).stderr).not.toContain('Waiting');
  expect(project.installs()).toBe(2);
});

it('installing ends its npm when it gets SIGTERM (H3)', async () => {
  const project = freshProject({ NPM_MS: '30000' });
  const child = launch(project, HELLO);
  await expect.poll(() => project.installs(), { timeout: 10_000 }).toBe(1);
  const [, npm] = readFileSync(join(project.path, '.installing'), 'utf8').split(' ');
  onTestFinished(() => killIfAlive(Number(npm)));
  child.kill('SIGTERM');
  expect((await once(child, 'close'))[0]).toBe(1);
  expect([existsSync(`/proc/${npm}`), existsSync(join(project.path, '.installing'))]).toEqual([false, false]);
});

it('running drains on a SIGTERM to npm start, because no shell in between intercepts it (H3)', async () => {
  const npm = ['start', '--silent', '--', 'wait'];
  const child = spawn('npm', npm, { cwd: builtProject().path, stdio: OUTPUT_ONLY });
  endWithTest(child);
  const { ready } = await waitUntilReady(child);
  child.kill('SIGTERM');
  expect((await once(child, 'close'))[0]).toBe(7);
  expect(existsSync(`/proc/${ready.pid}`)).toBe(false);
});

it('running writes only the output of the program to stdout, when npm is silent as README.md says', () => {
  const npm = ['start', '--silent', '--', '3'];
  const { status, stdout } = spawnSync('npm', npm, { cwd: builtProject().path, encoding: 'utf8' });
  expect(status).toBe(3);
  expect(stdout.trimEnd().split('\n')).toEqual([expect.stringMatching(/^\{.*\}$/)]);
});

it('running reports the death of a child by a signal like the shell (H3)', async () => {
  const { child, ready } = await startWaiting(builtProject(), WITHOUT_EXECVE);
  process.kill(ready.pid, 'SIGKILL');
  expect((await once(child, 'close'))[0]).toBe(137);
});

it('building happens after a changed, added or removed source, and when anything in dist is wrong (H2)', {
  timeout: 120_000,
}, () => {
  const project = builtProject();
  const [source, extra, dist] = ['src/main/main.ts', 'src/main/extra.ts', 'dist'].map((path) =>
    join(project.path, path),
  ) as [string, string, string];
  const builds = (): boolean => run(project, ['start']).stderr.includes('Building');
  const files = filesIn(dist);
  const changes = [
    () => utimesSync(source, 1, 1),
    () => writeFileSync(extra, 'export {};\n'),
    () => rmSync(extra),
    () => utimesSync(join(project.path, 'scripts/bundle.ts'), 1, 1),
    () => rmSync(join(dist, 'scrub-worker.js')),
    () => rmSync(join(dist, 'assets/page.css')),
    () => writeFileSync(join(dist, 'main.js'), ''),
  ];
  for (const change of changes) {
    change();
    expect([builds(), builds()]).toEqual([true, false]);
  }
  writeFileSync(join(dist, 'else'), '');
  expect(builds()).toBe(false);
  rmSync(join(dist, 'else'));
  expect(filesIn(dist)).toEqual(files);
});

it('building keeps the old dist when a file of a thread was not built (H4)', () => {
  const project = builtProject();
  writeFileSync(join(project.path, 'src/main/main.ts'), `${SERVER} console.log('./lost-worker.js');`);
  const { status, stderr } = run(project, ['start']);
  expect([status, stderr]).toEqual([1, expect.stringContaining('not built: lost-worker')]);
  expect(readFileSync(join(project.path, 'dist/main.js'), 'utf8')).not.toContain('lost-worker');
});

it('building leaves a complete dist when two starts build at the same time (H4)', async () => {
  const project = builtProject();
  utimesSync(join(project.path, 'src/main/main.ts'), 1, 1);
  const starts = [launch(project, ['start', '0']), launch(project, ['start', '0'])];
  const codes = await Promise.all(starts.map(async (child) => (await once(child, 'close'))[0] as number));
  expect(codes).toEqual([0, 0]);
  expect(readdirSync(project.path).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
});
