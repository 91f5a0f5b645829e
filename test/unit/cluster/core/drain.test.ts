// Goal: a node that drains transfers its leaderships at once, answers accepted requests, and ends in bounded time,
// regardless of the load of others. Method: three nodes in one thread over a network in memory with a manual clock.
import { expect, it } from 'vitest';
import { CATALOG_GROUP } from '#base';
import { LIMITS } from '#cluster';
import { watch } from '../../../support/cluster/outcomes.ts';
import { startTrio, type WorldNode } from '../../../support/cluster/replica-world.ts';

/** Delays each batch of the node's store. Returns a function that releases all waiting batches. */
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

it('a drain of a follower ends, although others write faster than its store', async () => {
  const { world, group, leader, others } = await startTrio();
  const [follower] = others;
  const go = slowStore(follower);
  const write = async (rounds: number, isDone: () => boolean): Promise<void> => {
    for (let at = 0; at < rounds && !isDone(); at += 1) {
      leader.transact(group, `text ${at}`).catch(() => undefined);
      await world.pass(10);
      // A batch takes longer than the next entry, so that one is in progress at the end of every turn.
      if (at % 2 === 0) go();
    }
  };
  await write(20, () => false);
  const drained = watch(follower.front.drain());
  await write(200, () => drained.end !== undefined);
  expect(drained.end).toBe('answered');
  expect(world.failures).toEqual([]);
});

it('a drain of a leader delays no write until its store is finished', async () => {
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

it('a drained node rejects forwarded requests, and the sender asks the next leader', async () => {
  const { world, catalog, leader } = await startTrio();
  const other = world.up.find((each) => each !== leader && each !== catalog) ?? leader;
  // It does not learn the next leader.
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

it('a drain ends when other nodes do not answer, and reports unknown outcomes', async () => {
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
