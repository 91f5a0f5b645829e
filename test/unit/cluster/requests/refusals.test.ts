// Goal: an error names the database by its name, never by the number of its group. Method: nodes over a network in
// memory that receive requests that they cannot serve.
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

it('an error names the database that other nodes have, and reports a deleted one', async () => {
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
])('an error about a full queue or a lost entry names the database: %s', ({ message }) => {
  expect(message).toContain('he database "shop"');
});
