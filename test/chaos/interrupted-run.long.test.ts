// Goal: an interrupted chaos run leaves nothing behind. Method: run the command in both worlds and for one node, with
// its own directory for temporary files, and end it as soon as it has created files there.
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
/** Without namespaces, only the other world can be tested. */
const HERE = whyNoWorld() === undefined ? WORLDS : WORLDS.filter((world) => world === 'loopback');

/** Logs of nodes in the directory of the run. */
function logsIn(dir: string): readonly string[] {
  return runsIn(dir)
    .flatMap((run) => readdirSync(join(dir, run)))
    .filter((name) => name.endsWith('.log'));
}

/** Ends the command once its nodes have created temporary files. Returns its exit code or signal. */
async function interrupted(dir: string, args: readonly string[], hasBegun: () => boolean): Promise<unknown> {
  // The command builds the product itself, so that the test also checks the cleanup of the build.
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

/** Command lines of the processes that contain the directory. */
function processesOf(dir: string): readonly string[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map((number) => commandLine(number)).filter((line) => line.includes(dir));
}

/** Empty when the process has ended. */
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
  'a run that gets SIGTERM leaves only what its options keep, with $world and $keep',
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
