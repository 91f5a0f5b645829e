// Goal: a chaos run that is interrupted leaves nothing behind. Method: the command itself, in either world and for one
// node, with a directory for temporary files of its own; it is ended as soon as it has files there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { whyNoWorld } from '../../chaos/cluster/namespaces.ts';
import { WORLDS } from '../../chaos/cluster/world.ts';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Where there are no namespaces, the other world is all that there is. */
const HERE = whyNoWorld() === undefined ? WORLDS : WORLDS.filter((world) => world === 'loopback');

/** The logs of nodes in the directory of the run. */
function logsIn(dir: string): readonly string[] {
  return runsIn(dir)
    .flatMap((run) => readdirSync(join(dir, run)))
    .filter((name) => name.endsWith('.log'));
}

/** Ends the command once its nodes have files in its directory for temporary ones; its exit code, or its signal. */
async function interrupted(dir: string, args: readonly string[], hasBegun: () => boolean): Promise<unknown> {
  // It builds what it runs, so that that is among what it leaves or not.
  const env = { ...process.env, TMPDIR: dir, [PRODUCT_VARIABLE]: undefined };
  const child = spawn(process.execPath, ['--conditions=source', 'chaos/main.ts', '--seed', '1', ...args], {
    cwd: ROOT,
    env,
    stdio: 'ignore',
  });
  endWithTest(child);
  await expect.poll(hasBegun, { timeout: 90_000 }).toBe(true);
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  return exit;
}

/** The command lines of processes that name the directory. */
function processesOf(dir: string): readonly string[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map((number) => commandLine(number)).filter((line) => line.includes(dir));
}

/** Empty once the process has ended. */
function commandLine(number: string): string {
  try {
    return readFileSync(`/proc/${number}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

function runsIn(dir: string): readonly string[] {
  return readdirSync(dir).filter((name) => name.startsWith('cairn-chaos-'));
}

it.each(HERE.map((world, place) => ({ world, keep: place === 0 ? ['--keep'] : [] })))(
  'a run that gets SIGTERM leaves what it was told to keep, with $world and $keep',
  { timeout: 120_000 },
  async ({ world, keep }) => {
    const dir = testDir();
    const args = ['--calm', '--world', world, ...keep];
    expect(await interrupted(dir, args, () => logsIn(dir).length > 0)).toEqual([1, null]);
    expect(logsIn(dir).length > 0).toBe(keep.length > 0);
    expect(runsIn(dir)).toHaveLength(keep.length);
  },
);

it('a run of kills that gets SIGTERM leaves nothing', { timeout: 120_000 }, async () => {
  const dir = testDir();
  const hasStore = (): boolean => runsIn(dir).some((run) => readdirSync(join(dir, run)).length > 0);
  expect(await interrupted(dir, ['--kills', '100'], hasStore)).toEqual([1, null]);
  expect(readdirSync(dir)).toEqual([]);
  await expect.poll(() => processesOf(dir)).toEqual([]);
});
