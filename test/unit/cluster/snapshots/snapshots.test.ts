// Goal: a member that lacks released entries gets a snapshot, and then equals the others. Method: nodes with short
// tails; lost messages, full disks and many transfers meanwhile.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId } from '#base';
import type { CoreLimits } from '#cluster';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { ReplicaWorld, startTrio, type WorldNode } from '../../../support/cluster/replica-world.ts';

const TINY: Partial<CoreLimits> = {
  tailBytesMax: 300,
  retainedBytesMax: 300,
  snapshotPartBytes: 4000,
  snapshotWindowBytes: 16_000,
};

interface Away {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly leader: WorldNode;
  /** The node that was stopped while the others wrote. */
  readonly behind: WorldNode;
}

async function withOneAway(writes: number, limits: Partial<CoreLimits> = TINY): Promise<Away> {
  const { world, group, leader, others } = await startTrio({ limits });
  const [behind] = others;
  await world.answer(leader.transact(group, 'the first'));
  await world.pass(1000);
  await behind.crash();
  await write(world, leader, group, writes);
  return { world, group, leader, behind };
}

async function write(world: ReplicaWorld, leader: WorldNode, group: GroupId, count: number): Promise<void> {
  for (let at = 0; at < count; at += 10) {
    const texts = Array.from({ length: Math.min(10, count - at) }, (_, more) => `text ${leader.node} ${at + more}`);
    await world.answer(Promise.all(texts.map((text) => leader.transact(group, text))));
  }
}

async function caughtUp({ world, group, leader, behind }: Away): Promise<readonly Error[]> {
  const revision = await world.answer(leader.front.latest(group));
  await world.until(() => behind.front.readable(group) >= revision, 'the member has caught up', 60_000);
  expect(await behind.history(group)).toEqual(await leader.history(group));
  return world.failures;
}

describe('a member that lacks entries that no log has', () => {
  it('accepts nothing while its disk is too full, stops a transfer in progress, and continues when there is space (C15)', async () => {
    const away = await withOneAway(600);
    const { world, group, behind } = away;
    await behind.start();
    behind.core.reportDisk('read-only');
    await world.pass(3000);
    const before = behind.front.readable(group);
    behind.core.reportDisk('open');
    await world.until(() => behind.front.readable(group) > before, 'it has begun', 60_000);
    behind.core.reportDisk('read-only');
    await world.pass(1000);
    const begun = behind.front.readable(group);
    await world.pass(30_000);
    expect(behind.front.readable(group)).toBe(begun);
    behind.core.reportDisk('open');
    expect(await caughtUp(away)).toEqual([]);
    expect(new Set(world.snapshotFaults)).toEqual(new Set(['the disk is too full']));
  });

  it('requests the parts after a lost one again (C16)', async () => {
    const away = await withOneAway(600);
    const { world, behind } = away;
    let isLost = false;
    world.network.loses = ({ content }) => {
      const loses = !isLost && content.kind === 'part' && content.seq === 1;
      isLost ||= loses;
      return loses;
    };
    await behind.start();
    expect(await caughtUp(away)).toEqual([]);
    expect([isLost, world.snapshotFaults]).toEqual([true, []]);
  });

  it.each<Partial<CoreLimits>>([{ snapshotHeldBytesMax: 40_000 }, { memoryBytesMax: 8 * 40_000 }])(
    'holds parts up to %o during a step, and installs them in the next one (C16)',
    async (limits) => {
      const away = await withOneAway(900, { ...TINY, ...limits });
      const { world, group, behind } = away;
      let receivedBytes = 0;
      world.network.loses = ({ content }) => {
        if (content.kind === 'part') receivedBytes += content.data.length;
        return false;
      };
      await behind.start();
      const end = (): number => databaseKit.machines.markOf(behind.kv, group)?.end ?? 0;
      const before = end();
      behind.holdDisk(true);
      await world.until(() => behind.front.readable(group) > 1, 'the first step', 30_000);
      await world.pass(1000);
      const received = before + receivedBytes;
      expect(received - end()).toBeGreaterThan(40_000 - 4000);
      expect(received - end()).toBeLessThan(40_000 + 4000);
      behind.log.sync();
      await world.pass(1000);
      expect(end()).toBe(received);
      behind.holdDisk(false);
      expect(await caughtUp(away)).toEqual([]);
    },
  );
});

it('transfers are limited in number, and the others wait for them (C16)', async () => {
  const world = await ReplicaWorld.started(3, { limits: { ...TINY, snapshotsMax: 1 } });
  const catalog = await world.leader(CATALOG_GROUP);
  const groups: GroupId[] = [];
  for (const name of ['one', 'two', 'three', 'four']) groups.push((await world.create(name)).group);
  await world.pass(3000);
  const behind = world.up.find((member) => member !== catalog);
  if (behind === undefined) throw new Error('There are three nodes');
  await behind.crash();
  await world.pass(5000);
  for (const group of groups) await write(world, await world.leader(group), group, 60);
  await behind.start();
  for (const group of groups) {
    expect(await caughtUp({ world, group, leader: await world.leader(group), behind })).toEqual([]);
  }
});
