// Goal: a node that is told to stop hands over at once, answers what it has taken in, and ends in bounded time whatever
// others go on doing. Method: three nodes in one thread over a network in memory whose time the test passes.
import { expect, it } from 'vitest';
import { CATALOG_GROUP } from '#base';
import { LIMITS } from '#cluster';
import { watch } from '../../../support/cluster/outcomes.ts';
import { startTrio, type WorldNode } from '../../../support/cluster/replica-world.ts';

/** Each batch of the node's store is written when the test says so; returns what lets all that wait go on. */
function slowStore({ kv }: WorldNode): () => void {
  const write = kv.write.bind(kv);
  const waiting: (() => void)[] = [];
  kv.write = async (...batch) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return write(...batch);
  };
  return () => {
    for (const go of waiting.splice(0)) go();
  };
}

it('a drain of a node that follows ends, although others write faster than its store does', async () => {
  const { world, group, leader, others } = await startTrio();
  const [follower] = others;
  const go = slowStore(follower);
  const write = async (rounds: number, isDone: () => boolean): Promise<void> => {
    for (let at = 0; at < rounds && !isDone(); at += 1) {
      leader.transact(group, `text ${at}`).catch(() => undefined);
      await world.pass(10);
      // A batch takes longer than it takes the next entry to come: one is under way at the end of every turn.
      if (at % 2 === 0) go();
    }
  };
  await write(20, () => false);
  const drained = watch(follower.front.drain());
  await write(200, () => drained.end !== undefined);
  expect(drained.end).toBe('answered');
  expect(world.failures).toEqual([]);
});

it('a drain of a node that leads makes nobody wait for its store', async () => {
  const { world, group, leader, others } = await startTrio();
  const [other] = others;
  await world.answer(leader.transact(group, 'before'));
  const go = slowStore(leader);
  await world.answer(leader.transact(group, 'rows on their way'));
  await world.pass(100);
  const drained = watch(leader.front.drain());
  const later = watch(other.transact(group, 'after'));
  await world.until(() => later.end !== undefined, 'the answer of another leader', 700);
  expect([later.end, drained.end]).toEqual(['answered', undefined]);
  await world.until(() => {
    go();
    return drained.end !== undefined;
  }, 'the end of the drain');
  expect(world.failures).toEqual([]);
});

it('a node that has drained turns requests away, and their node asks the next leader', async () => {
  const { world, catalog, leader } = await startTrio();
  const other = world.up.find((each) => each !== leader && each !== catalog) ?? leader;
  // It does not learn who leads next.
  world.network.isHeld = (_from, to) => to === other.node;
  await world.answer(catalog.front.drain());
  expect(other.front.leaderOf(CATALOG_GROUP)?.node).toBe(`node-${catalog.node}`);
  const asked = other.front.createDatabase('books');
  await world.pass(100);
  world.network.isHeld = () => false;
  await world.pass(1000);
  await catalog.crash();
  expect(await world.answer(asked)).toMatchObject({ kind: 'created' });
});

it('a drain tells those who wait for other nodes in vain that nobody knows, and ends', async () => {
  const { world, group, leader, others } = await startTrio();
  for (const other of others) world.network.cut(leader.node, other.node);
  const asked = watch(leader.transact(group, 'an entry that nobody else gets'));
  const read = watch(leader.front.latest(group));
  await world.pass(10);
  const drained = watch(leader.front.drain());
  const beganMs = world.nowMs;
  await world.until(() => drained.end !== undefined, 'the end of the drain', 20_000);
  expect([asked.end, read.end]).toEqual(['OutcomeUnknown', 'NoLeader']);
  expect(world.nowMs - beganMs).toBeLessThan(LIMITS.outcomeWaitMs + 500);
  expect(world.failures).toEqual([]);
});
