// Goal: a read of a database by time uses recorded times, also after the clock was set back (ADR 0009). Method:
// transactions at scripted times on one node.
import { beforeEach, expect, it } from 'vitest';
import { instantFromMs } from '#base';
import { NEVER, ServiceWorld } from '../../support/service-world.ts';

const HOUR_MS = 3_600_000;
const beganMs = Date.UTC(2026, 0);

let world: ServiceWorld;

beforeEach(async () => {
  world = await new ServiceWorld().start();
  world.core.nowMs = beganMs;
  await world.database('shop');
  for (let n = 1; n <= 3; n++) {
    world.core.nowMs = beganMs + n * HOUR_MS;
    await world.transact('shop', { events: [{ id: `e${n}` }] });
  }
});

async function revisionAt(timeMs: number): Promise<number> {
  const timestamp = instantFromMs(timeMs);
  return (await world.service.databaseAtTimestamp({ databaseName: 'shop', timestamp, signal: NEVER })).revision;
}

it('a database by time is at the last revision that was recorded at or before that time', async () => {
  const revisions = [];
  for (const hour of [0, 1, 1.5, 2.999, 3, 9]) revisions.push(await revisionAt(beganMs + hour * HOUR_MS));
  expect(revisions).toEqual([0, 1, 1, 2, 3, 3]);
  await expect(revisionAt(beganMs - 1)).rejects.toMatchObject({ code: 'not_found' });
});

it('a database by the present time is at the latest revision, also when the clock was set back', async () => {
  for (const hour of [1.5, -5]) {
    world.core.nowMs = beganMs + hour * HOUR_MS;
    for (const laterMs of [-1_000, 0, HOUR_MS]) expect(await revisionAt(world.core.nowMs + laterMs)).toBe(3);
  }
  await expect(revisionAt(world.core.nowMs - HOUR_MS)).rejects.toMatchObject({ code: 'not_found' });
  world.core.nowMs = beganMs + 2.5 * HOUR_MS;
  expect(await revisionAt(beganMs + 1.5 * HOUR_MS)).toBe(1);
});
