// Goal: a node that is killed under load loses nothing that it acknowledged, again and again (C2). Method: the loop of
// `npm run chaos`, short; see chaos/kill-nine.ts for what it checks after every restart.
import { expect, it } from 'vitest';
import { killNine } from '../../chaos/kill-nine.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const KILLS = 3;

it('a node that is killed under load keeps what it acknowledged', { timeout: 600_000 }, async () => {
  const loadMs = (kill: number): number => 60 * kill;
  const report = await killNine(testDir(), { kills: KILLS, writers: 6, loadMs, onSpawn: endWithTest });
  expect(report).toMatchObject({ kills: KILLS, refused: 0, delivered: report.events });
  expect(report.acknowledged).toBeGreaterThan(KILLS);
  expect(report.databasesCreated).toBeGreaterThan(0);
});
