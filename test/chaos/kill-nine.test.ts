// Goal: a node that is killed under load loses nothing that it acknowledged, again and again (C2). Method: the loop of
// `npm run chaos`, short; see chaos/kill-nine.ts for what it checks after every restart.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { killNine } from '../../chaos/kill-nine.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const KILLS = 8;
const ROOT = resolve(import.meta.dirname, '../..');

it('a node that is killed eight times under load keeps what it acknowledged', { timeout: 600_000 }, async () => {
  const loadMs = (kill: number): number => 40 * kill;
  const report = await killNine(testDir(), { kills: KILLS, writers: 6, loadMs, onSpawn: endWithTest });
  expect(report).toMatchObject({ kills: KILLS, refused: 0, delivered: report.events });
  expect(report.acknowledged).toBeGreaterThan(KILLS);
  expect(report.databasesCreated).toBeGreaterThan(0);
});

it('the command prints its verdict, and ends by itself right behind it', { timeout: 120_000 }, async () => {
  const args = ['--conditions=source', 'chaos/main.ts', '--kills', '1', '--writers', '2', '--seed', '1'];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  endWithTest(child);
  let saidMs = Number.POSITIVE_INFINITY;
  child.stdout.once('data', () => (saidMs = performance.now()));
  const exit = once(child, 'exit');
  expect(JSON.parse(await text(child.stdout))).toMatchObject({ kills: 1, refused: 0 });
  expect(await exit).toEqual([0, null]);
  expect(performance.now() - saidMs).toBeLessThan(10_000);
});
