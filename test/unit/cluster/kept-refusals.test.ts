// Goal: the refusal of an entry that somebody will look up is found on every node that holds the database, through
// whichever it came, also on one that was away so long that the log does not lead there, and after crashes (D25, ADR
// 0142); and no cluster takes such an entry in that an earlier release may still have to read (C23). Method: nodes in
// one thread over the real machines.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type DatabaseError, type GroupId, LEVEL_FIRST } from '#base';
import type { TransactOutcome } from '#cluster';
import { encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { isAt, keptWorld, registrationOf } from '../../support/cluster/kept-world.ts';
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

async function started(release?: Release): Promise<{ readonly world: ReplicaWorld; readonly group: GroupId }> {
  const limits = { tailBytesMax: 300, retainedBytesMax: 300, snapshotPartBytes: 200, snapshotWindowBytes: 800 };
  const world = await keptWorld(3, { limits, release });
  for (const node of [1, 2, 3]) {
    const leader = await world.leader(CATALOG_GROUP);
    const registration = { ...registrationOf(node), ...(release?.levels && { levels: release.levels }) };
    await world.answer(leader.core.register(registration, node === leader.node));
  }
  await world.pass(3_000);
  const { group } = (await world.answer((await world.leader(CATALOG_GROUP)).front.createDatabase('shop'))).binding;
  await world.until(() => isAt(world, group, [1, 2, 3]), 'a database on three nodes');
  return { world, group };
}

it('a refusal that is kept is not asked for where an earlier release may have to read the entry (C23)', async () => {
  const { world, group } = await started(RELEASE_BEFORE);
  const [id] = IDS;
  if (id === undefined) throw new Error('there are ids');
  for (const member of world.up) expect(await refuse(world, member, group, id)).toBe('LevelNotReached');
  expect(world.failures).toEqual([]);
});
