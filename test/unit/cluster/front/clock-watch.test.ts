// Goal: a clock that differs from the others is logged once, and once more when it agrees again (C41). Method: a
// sequence of observations.
import { expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { ClockWatch } from '../../../../src/cluster/front/clock-watch.ts';

it('logs the beginning and the end of each state once, for any number of observations', () => {
  const told: unknown[] = [];
  const tell = (level: string) => (event: string, fields: unknown) => told.push([level, event, fields]);
  const logger = { ...silentLogger, info: tell('info'), warn: tell('warn') };
  const watch = new ClockWatch(logger);
  const clock = { aheadMs: 5.4, isFar: false, jumpedMs: 0, peers: new Map() };
  const far = { ...clock, aheadMs: 4_000, isFar: true, jumpedMs: 4_000 };
  const recordedAhead = { count: 1, database: 'shop', aheadMs: 3_000 };
  for (let times = 0; times < 2; times += 1) watch.look({ clock, recordedAhead: undefined });
  expect([watch.isFar, told]).toEqual([false, []]);
  for (let times = 0; times < 2; times += 1) watch.look({ clock: far, recordedAhead });
  expect(watch.isFar).toBe(true);
  for (let times = 0; times < 2; times += 1)
    watch.look({ clock: { ...clock, jumpedMs: 4_000 }, recordedAhead: undefined });
  expect(told).toEqual([
    ['warn', 'clock-jumped', { byMs: 4_000 }],
    ['warn', 'clock-skewed', { aheadMs: 4_000, peers: 0 }],
    ['warn', 'recorded-time-ahead', recordedAhead],
    ['info', 'clock-agrees', { aheadMs: 5 }],
    ['info', 'recorded-time-reached', {}],
  ]);
});
