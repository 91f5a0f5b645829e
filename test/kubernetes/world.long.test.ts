// Goal: a Kubernetes cluster of the harness (a world) can be entered from outside, and leaves no process, mount,
// control group or file behind, however it ends. Method: the real command with a running pod gets a signal, and the
// test inspects the machine.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';
import { imageArchive } from './run-scenario.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const POD = [
  'run',
  'idle',
  '--image=$KUBE_IMAGE',
  '--command',
  '--',
  'node',
  '--eval',
  '"setInterval(() => {}, 1000)"',
];
const UP = [
  `kubectl ${POD.join(' ')}`,
  'kubectl wait --for=condition=Ready pod/idle --timeout=60s',
  'touch $KUBE_DIR/up',
  'sleep 600',
].join(' && ');

/** Processes and mounts that name the folder, and control groups of the world. */
function leftovers(dir: string, world: string): readonly string[] {
  const processes = globSync('/proc/[0-9]*/{cmdline,environ}').filter((path) => textOf(path).includes(dir));
  const mounts = textOf('/proc/mounts')
    .split('\n')
    .filter((line) => line.includes(dir));
  return [...processes, ...mounts, ...globSync(`/sys/fs/cgroup/{*/,}${world}`), ...readdirSync(dir)];
}

/** The text of a file; empty when the file is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a world', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'leaves no process, mount or file after %s',
    { timeout: 200_000 },
    async (signal) => {
      const image = await imageArchive();
      const dir = testDir();
      const args = ['--conditions=source', join(import.meta.dirname, 'main.ts'), '--image', image];
      const env = { ...process.env, TMPDIR: dir, SHELL: 'sh' };
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['pipe', 'ignore', 'pipe'], env });
      endWithTest(child);
      child.stdin.write(`${UP}\n`);
      let enter = '';
      createInterface(child.stderr).on('line', (line) => (enter = /nsenter .*/.exec(line)?.[0] ?? enter));
      const world = (): string => readdirSync(dir)[0] ?? '';
      await expect.poll(() => existsSync(join(dir, world(), 'up')), { timeout: 120_000 }).toBe(true);
      const name = world();
      expect(execFileSync('sh', ['-c', `${enter} -c 'kubectl get pod idle'`], { encoding: 'utf8' })).toContain('idle');
      const groups = globSync(`/sys/fs/cgroup/{*/,}${name}`);
      expect(groups).not.toEqual([]);
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
      await expect.poll(() => leftovers(dir, name), { timeout: 20_000 }).toEqual([]);
    },
  );
});
