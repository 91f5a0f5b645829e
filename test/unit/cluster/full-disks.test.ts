// Goal: a node below the hard level of its disk appends no entries of databases, and catches up later (C37); one that
// refuses writes leads only groups that no other node can lead (C38). Method: three nodes, whose logs are read.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type DatabaseError, type GroupId } from '#base';
import { startTrio, type Trio, type WorldNode } from '../../support/cluster/replica-world.ts';

async function withDatabase(): Promise<Trio> {
  const trio = await startTrio();
  await trio.world.answer(trio.leader.transact(trio.group, 'the first'));
  await trio.world.pass(2000);
  return trio;
}

function entriesIn({ log }: WorldNode, group: GroupId): number {
  return log.durable.filter((record) => record.kind === 'entry' && record.group === group).length;
}

async function expectAllToHold(
  { world, group, leader }: Pick<Trio, 'world' | 'group' | 'leader'>,
  count: number,
): Promise<void> {
  const revision = await world.answer(leader.front.latest(group));
  await world.until(() => world.up.every(({ front }) => front.readable(group) >= revision), 'all have caught up');
  const [one, ...others] = await Promise.all(world.up.map((member) => member.history(group)));
  expect(one).toHaveLength(count);
  expect(others).toEqual([one, one]);
}

describe('a follower whose disk is below its hard level', () => {
  it('redirects requests to the nodes with the other replicas, until there is space (C37)', async () => {
    const { group, leader, others: followers } = await withDatabase();
    const [behind] = followers;
    for (const full of [leader, behind]) full.disk = 'read-only';
    expect(leader.front.absence(group)).toBeUndefined();
    expect(behind.front.absence(group)).toMatchObject({
      code: 'not_leader',
      details: { reason: 'NotReplica', holders: { nodes: expect.arrayContaining([leader.node]) } },
    });
    behind.disk = 'refusing-writes';
    expect(behind.front.absence(group)).toBeUndefined();
  });

  it('forwards writes to a leader with space, when it only refuses writes itself', async () => {
    const { world, group, leader, others } = await withDatabase();
    for (const full of others) full.core.reportDisk('refusing-writes');
    for (const full of others) await world.answer(full.transact(group, `by node ${full.node}`));
    expect(await world.answer(leader.front.latest(group))).toBe(3);
  });

  it('refuses a write that it could not forward before it became leader itself', async () => {
    const { world, group, leader, others } = await withDatabase();
    const [full, other] = others;
    for (const each of others) each.core.reportDisk('refusing-writes');
    world.network.isClosed = (from, to) => from === full.node && to === leader.node;
    const asked = full.transact(group, 'by a full node').catch(({ code }: DatabaseError) => code);
    await world.pass(200);
    world.network.isHeld = (from, _to, { message }) => from === other.node && message.kind === 'pre-vote-request';
    await leader.crash();
    expect(await world.answer(asked)).toBe('storage_full');
    expect(world.leaderOf(group)).toBe(full);
  });

  it('appends no entry of a database, follows its leader all the same, and catches up when there is space (C37)', async () => {
    const full = await withDatabase();
    const { world, group, leader, others: followers } = full;
    const [behind] = followers;
    const before = entriesIn(behind, group);
    behind.core.reportDisk('read-only');

    for (const text of ['a', 'b', 'c']) await world.answer(leader.transact(group, text));
    await world.pass(30_000);

    expect(entriesIn(behind, group)).toBe(before);
    expect(world.leaderOf(group)).toBe(leader);
    expect(behind.lostCampaigns).toEqual([]);
    behind.core.reportDisk('refusing-writes');
    await expectAllToHold(full, 4);
    expect(world.failures).toEqual([]);
  });

  it('appends entries of the catalog, so that databases can be deleted when most disks are full (C37)', async () => {
    const full = await withDatabase();
    const { world, group, leader, others: followers } = full;
    const before = followers.map((follower) => entriesIn(follower, group));
    for (const follower of followers) follower.core.reportDisk('read-only');

    let isAnswered = false;
    const write = leader.transact(group, 'nobody else has it').finally(() => {
      isAnswered = true;
    });
    await world.pass(10_000);

    expect([isAnswered, followers.map((follower) => entriesIn(follower, group))]).toEqual([false, before]);
    const catalog = await world.leader(CATALOG_GROUP);
    catalog.core.reportDisk('open');
    const { binding } = await world.answer(catalog.front.createDatabase('other'));
    expect(await world.answer(catalog.front.deleteDatabase('other'))).toMatchObject({ kind: 'deleted' });
    expect(world.up.every(({ core }) => core.catalog.bindings.every(({ group: each }) => each !== binding.group))).toBe(
      true,
    );
    for (const follower of followers) follower.core.reportDisk('open');
    await world.answer(write);
    await expectAllToHold(full, 2);
  });
});

it('a leader whose disk refuses writes transfers groups that others can lead, and gets none back before it has space (C38)', async () => {
  const full = await withDatabase();
  const { world, group, leader, others: followers } = full;
  leader.core.reportDisk('refusing-writes');

  for (const led of [group, CATALOG_GROUP]) {
    await world.until(() => followers.some((each) => world.leaderOf(led) === each), 'another node leads');
  }
  const [other] = followers;
  await world.answer(other.transact(group, 'there is room elsewhere'));
  const before = world.leaderOf(group);
  await world.pass(120_000);
  expect(world.leaderOf(group)).toBe(before);

  leader.core.reportDisk('open');
  await expectAllToHold({ ...full, leader: other }, 2);
  expect(world.failures).toEqual([]);
});

it.each([0, 1])(
  'a leader whose disk refuses writes transfers to no node whose disk refuses them as well (C38): follower %i',
  async (place) => {
    const { world, group, leader, others } = await withDatabase();
    const full = others[place];
    const open = others[1 - place];
    full?.core.reportDisk('refusing-writes');
    await world.pass(1000);
    leader.core.reportDisk('refusing-writes');

    await world.until(() => others.some((each) => world.leaderOf(group) === each), 'another node leads');

    expect(world.leaderOf(group)).toBe(open);
  },
);
