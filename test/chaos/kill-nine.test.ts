// Goal: a node that is repeatedly killed under load loses no acknowledged data (C2), and its archive has no gap (X1).
// Method: a short loop of `npm run chaos -- --kills`; chaos/kill-nine.ts says what it checks after every restart.
import { expect, it } from 'vitest';
import { killNine } from '../../chaos/kill-nine.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const KILLS = 3;

it('a node that is killed under load keeps what it acknowledged', { timeout: 600_000 }, async () => {
  const loadMs = (kill: number): number => 60 * kill;
  const report = await killNine(testDir(), { kills: KILLS, writers: 6, loadMs, onSpawn: endWithTest });
  expect(report).toMatchObject({ kills: KILLS, refused: 0, delivered: report.events, restored: report.revision });
  expect(report.acknowledged).toBeGreaterThan(KILLS);
  expect(report.databasesCreated).toBeGreaterThan(0);
});
