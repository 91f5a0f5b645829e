// Goal: the refusal of an entry that somebody will look up is found on every node that holds the database, through
// whichever it came, also on one that was away so long that the log does not lead there, and after crashes (D25, ADR
// 0142); and no cluster takes such an entry in that an earlier release may still have to read (C23). Method: nodes in
// one thread over the real machines.
import { expect, it } from 'vitest';
import { type DatabaseError, type GroupId, LEVEL_FIRST } from '#base';
import type { TransactOutcome } from '#cluster';
import { encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { shopOnThree } from '../../support/cluster/kept-world.ts';
import type { Release, ReplicaWorld, WorldNode } from '../../support/cluster/replica-world.ts';
import { eventBytes } from '../../support/events.ts';

/** As it was before refusals were kept. */
const RELEASE_BEFORE: Release = { levels: { min: LEVEL_FIRST, max: 3 }, machines: databaseMachines };
const IDS = Array.from({ length: 12 }, (_, number) => new Uint8Array(16).fill(number + 1));

function refuse(world: ReplicaWorld, { front }: WorldNode, group: GroupId, id: Uint8Array): Promise<unknown> {
  const payload = encodeTransactPayload({
    transactionId: id,
    origin: ORIGIN.HTTP_TRANSACTION,
    options: NO_OPTIONS,
    constraints: [{ kind: 'min-revision', revision: 10_000 }],
    events: [eventBytes({})],
    keepsRefusal: true,
  });
  const kindOf = ({ kind }: TransactOutcome): string => kind;
  return world.answer(front.transact(group, payload).then(kindOf, ({ details }: DatabaseError) => details.reason));
}

it('a refusal that is kept is not asked for where an earlier release may have to read the entry (C23)', async () => {
  const { world, group } = await shopOnThree(3, { release: RELEASE_BEFORE });
  const [id] = IDS;
  if (id === undefined) throw new Error('there are ids');
  for (const member of world.up) expect(await refuse(world, member, group, id)).toBe('LevelNotReached');
  expect(world.failures).toEqual([]);
});
