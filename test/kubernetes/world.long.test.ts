// Goal: a world leaves no process, mount, control group or file behind, however it ends. Method: the command itself
// with a pod that runs; it gets a signal, and the machine is looked at.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';
import { imageArchive } from './image.ts';

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

/** Processes and mounts that name the folder, and control groups of the worlds that these processes began. */
function leftovers(dir: string, begun: readonly ChildProcess[]): readonly string[] {
  const processes = globSync('/proc/[0-9]*/cmdline').filter((path) => textOf(path).includes(dir));
  const mounts = textOf('/proc/mounts')
    .split('\n')
    .filter((line) => line.includes(dir));
  const groups = begun.flatMap(({ pid }) => globSync(`/sys/fs/cgroup/{*/,}cairn-kube-${pid}`));
  return [...processes, ...mounts, ...groups];
}

/** Empty when it is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a world', () => {
  it('leaves nothing behind when it gets SIGTERM, and no process when it gets SIGKILL', {
    timeout: 300_000,
  }, async () => {
    const image = await imageArchive();
    const begun: ChildProcess[] = [];
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const dir = testDir();
      const args = ['--conditions=source', join(import.meta.dirname, 'main.ts'), '--image', image, 'sh', '-c', UP];
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'ignore', env: { ...process.env, TMPDIR: dir } });
      endWithTest(child);
      begun.push(child);
      const isUp = (): boolean => readdirSync(dir).some((world) => existsSync(join(dir, world, 'up')));
      await expect.poll(isUp, { timeout: 120_000 }).toBe(true);
      expect(leftovers(dir, begun)).not.toEqual([]);
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
      const processes = (): readonly string[] => leftovers(dir, begun).filter((path) => path.startsWith('/proc'));
      await expect.poll(processes, { timeout: 10_000 }).toEqual([]);
      if (signal === 'SIGKILL') continue;
      // The next world has removed the groups of the one that was killed.
      expect(leftovers(dir, begun)).toEqual([]);
      expect(readdirSync(dir)).toEqual([]);
    }
  });
});
