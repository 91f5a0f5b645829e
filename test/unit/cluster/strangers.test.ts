// Goal: a node accepts only messages of the catalog from a node that its catalog does not name (C34). Method: three
// nodes, and messages of a fourth; tables of heartbeats.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, replicaOf, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import type { Envelope } from '#cluster';
import type { Message } from '#raft';
import { ReceivedTable } from '../../../src/cluster/group/received-table.ts';
import { startTrio, type WorldNode } from '../../support/cluster/replica-world.ts';

const STRANGER = toNodeId(77);
const LATER = toTerm(50);
const BEAT: Message = { kind: 'beat', term: LATER, commit: toLogIndex(0), round: 0 };

function of(group: GroupId, to: WorldNode, message: Message = BEAT): Envelope {
  return { group, from: replicaOf(STRANGER), to: replicaOf(to.node), message };
}

it('a node that the catalog does not name cannot lead a database, with any term, by message or by table', async () => {
  const { world, group, leader, others } = await startTrio();
  const [follower] = others;
  const beat = of(group, follower);
  const rows = new Map([
    [group, { ...beat, message: { kind: 'beat', term: LATER, commit: toLogIndex(0), round: 0 } }],
  ] as const);
  const table = { rows, isWhole: true, changed: [...rows.values()], gone: [] };
  expect(follower.core.receive(STRANGER, [beat])).toBe('stranger');
  expect(follower.core.receive(STRANGER, [], { beats: table })).toBe('stranger');
  expect(
    follower.core.receive(STRANGER, [
      of(group, follower, {
        kind: 'vote-request',
        term: LATER,
        last: { index: toLogIndex(99), term: LATER },
        isTransfer: true,
        commit: { index: toLogIndex(0), term: toTerm(0) },
      }),
    ]),
  ).toBe('stranger');
  await world.pass(50);
  expect(follower.front.leaderOf(group)?.node).toBe(`node-${leader.node}`);
  expect(follower.core.levels.term).toBeLessThan(LATER);
  expect(await world.answer(follower.transact(group, 'a'))).toMatchObject({ kind: 'committed', revision: 1 });
  expect(world.failures).toEqual([]);
});

it('a node that the catalog does not name cannot send a snapshot of a database', async () => {
  const { world, group, others } = await startTrio();
  const [follower] = others;
  const letter = { from: replicaOf(STRANGER), to: replicaOf(follower.node), transfer: 1 };
  const content = { kind: 'offer', term: LATER } as const;
  expect(follower.core.receiveLetter(STRANGER, { ...letter, group, content })).toBe('stranger');
  expect(follower.core.receiveLetter(STRANGER, { ...letter, group: CATALOG_GROUP, content })).toBeUndefined();
  expect(world.failures).toEqual([]);
});

it('the first table from a node counts with all of its rows, even when it is a delta', () => {
  const heard = new ReceivedTable();
  const row = (group: number): Envelope => ({
    group: toGroupId(group),
    from: replicaOf(STRANGER),
    to: replicaOf(toNodeId(1)),
    message: BEAT,
  });
  const rows = new Map([1, 2, 3].map((group) => [toGroupId(group), row(group)]));
  const table = { rows, isWhole: false, changed: [row(2)], gone: [] };
  const wake = (): void => undefined;
  expect(heard.hear(table, 0, wake).changed).toEqual([1, 2, 3].map(row));
  expect(heard.hear({ ...table, changed: [] }, 1, wake)).toEqual({ changed: [], unchanged: [1, 2, 3].map(row) });
});
