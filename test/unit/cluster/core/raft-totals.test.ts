// Goal: the sums over the logs of all open groups say where these are, whatever is created, written, deleted and opened
// again. Method: one node in one thread.

import { expect, it } from 'vitest';
import { CoreWorld, settle } from '../../../support/cluster/core-world.ts';

it('are those of the open groups: of new ones, of deleted ones no more, and of dormant ones when they are touched', async () => {
  const world = new CoreWorld();
  await world.start();
  const atStart = world.core.levels;
  // The no-op of the catalog.
  expect(atStart).toMatchObject({ openGroups: 1, term: 1, lastIndex: 1, committedIndex: 1, appliedIndex: 1 });

  const shop = await world.create('shop');
  await world.transact(shop, 'a');
  await world.transact(shop, 'b');
  await world.readable(shop);
  // The creation; a no-op and two transactions.
  const atTwo = { openGroups: 2, term: 1, lastIndex: 5, committedIndex: 5, appliedIndex: 5 };
  expect(world.core.levels).toMatchObject(atTwo);

  await world.crash();
  await settle();
  const restarted = world.core.levels;
  expect(restarted.term).toBe(2);
  await world.transact(shop, 'c');
  await world.readable(shop);
  // Each group has a no-op more, and the transaction.
  expect(world.core.levels).toMatchObject({ openGroups: 2, term: 2, lastIndex: 8, committedIndex: 8, appliedIndex: 8 });

  await world.node.deleteDatabase('shop');
  // What is left is the catalog: two no-ops, creation and deletion.
  expect(world.core.levels).toMatchObject({ openGroups: 1, term: 2, lastIndex: 4, committedIndex: 4, appliedIndex: 4 });
});
