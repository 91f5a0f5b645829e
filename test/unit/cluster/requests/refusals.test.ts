// Goal: whoever is refused reads of the database by its name, never of a number that only nodes know. Method: nodes
// over a network in memory that are asked for what they cannot do.
import { expect, it } from 'vitest';
import { type DatabaseError, toNodeId } from '#base';
import {
  backlogFull,
  forwardsFull,
  notCommitted,
  readsFull,
  titleOf,
  uncommittedFull,
  waitingFull,
} from '../../../../src/cluster/refusals.ts';
import { shopOnThree } from '../../../support/cluster/kept-world.ts';

const TITLE = titleOf('shop');

function messageOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'answered',
    ({ message }: DatabaseError) => message,
  );
}

it('a refusal names the database that other nodes hold, and says that one is deleted', async () => {
  const { world, group } = await shopOnThree(4);
  const elsewhere = world.at(toNodeId(4));
  await world.until(() => elsewhere.front.catalog.lookup('shop') !== undefined, 'a database that is known');
  const notHere = 'This node has no replica of the database "shop"; send to nodes 1, 2, 3';
  expect(await world.answer(messageOf(elsewhere.transact(group, 'a')))).toBe(notHere);
  expect(elsewhere.front.absence(group)?.message).toBe(notHere);
  await world.answer(elsewhere.front.deleteDatabase('shop'));
  expect(await world.answer(messageOf(elsewhere.transact(group, 'a')))).toBe(
    'The database was deleted, or never created',
  );
});

it.each([
  uncommittedFull(TITLE, 1),
  backlogFull(TITLE, 1, 1),
  waitingFull(TITLE, 1),
  forwardsFull(TITLE, toNodeId(1), 1),
  readsFull(TITLE, 1),
  notCommitted(TITLE),
])('a refusal names the database of which too much waits, or an entry is lost: %s', ({ message }) => {
  expect(message).toContain('he database "shop"');
});
