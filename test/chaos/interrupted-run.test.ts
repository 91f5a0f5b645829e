// Goal: a chaos run that is interrupted leaves nothing behind. Method: the command itself, in either world, with a
// directory for temporary files of its own; it is ended as soon as it has files there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { whyNoWorld } from '../../chaos/cluster/namespaces.ts';
import { WORLDS } from '../../chaos/cluster/world.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Where there are no namespaces, the other world is all that there is. */
const HERE = whyNoWorld() === undefined ? WORLDS : WORLDS.filter((world) => world === 'loopback');

/** The logs of nodes in the directory of the run. */
function logsIn(dir: string): readonly string[] {
  const runs = readdirSync(dir).filter((name) => name.startsWith('cairn-chaos-'));
  return runs.flatMap((run) => readdirSync(join(dir, run))).filter((name) => name.endsWith('.log'));
}

it.each(
  HERE.flatMap((world) => [
    { world, keep: [] },
    { world, keep: ['--keep'] },
  ]),
)(
  'a run that gets SIGTERM leaves what it was told to keep, with $world and $keep',
  { timeout: 120_000 },
  async ({ world, keep }) => {
    const dir = testDir();
    const args = ['--conditions=source', 'chaos/main.ts', '--calm', '--seed', '1', '--world', world, ...keep];
    const env = { ...process.env, TMPDIR: dir };
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' });
    endWithTest(child);
    await expect.poll(() => logsIn(dir), { timeout: 90_000 }).not.toEqual([]);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exit).toEqual([1, null]);
    expect(logsIn(dir).length > 0).toBe(keep.length > 0);
    const left = readdirSync(dir).filter((name) => name.startsWith('cairn-chaos-'));
    expect(left).toHaveLength(keep.length);
  },
);
