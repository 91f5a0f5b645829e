// Goal: the refusal of an entry that somebody will look up is found on every node that holds the database, through
// whichever it came, also on one that was away so long that the log does not lead there, and after crashes (D25, ADR
// 0142); and no cluster takes such an entry in that an earlier release may still have to read (C23). Method: nodes in
// one thread over the real machines.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type DatabaseError, type GroupId, LEVEL_FIRST, toNodeId } from '#base';
import type { TransactOutcome } from '#cluster';
import { DatabaseReader, refusalOf } from '#database';
import { encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { nativeCrc32, nativeSha256 } from '../../../src/cluster/native.ts';
import { isAt, keptWorld, registrationOf } from '../../support/cluster/kept-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
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

/** Each by the next node, with a transaction behind it. */
async function refuseAll(world: ReplicaWorld, group: GroupId, ids: readonly Uint8Array[]): Promise<void> {
  for (const [at, id] of ids.entries()) {
    const member = world.up[at % world.up.length];
    if (member === undefined) throw new Error('a node runs');
    expect(await refuse(world, member, group, id)).toBe('violated');
    await world.answer(member.transact(group, `text behind ${id.join()}`));
  }
}

/** Those that are found, by node. */
async function found(world: ReplicaWorld, group: GroupId): Promise<readonly number[]> {
  const revision = await world.answer((await world.leader(group)).front.latest(group));
  await world.until(() => world.up.every(({ front }) => front.applied(group) >= revision), 'all of it', 60_000);
  return world.up.map(({ front }) => {
    const reader = new DatabaseReader({ kv: front.reader, group, crc32: nativeCrc32, sha256: nativeSha256 });
    return IDS.filter((id) => refusalOf(reader, id)?.cause.kind === 'violated').length;
  });
}

async function rows(world: ReplicaWorld, group: GroupId): Promise<ReadonlySet<string>> {
  const all = await Promise.all(world.up.map(({ front }) => databaseKit.shared(front.reader, group)));
  return new Set(all.map((each) => JSON.stringify(each)));
}

describe('a refusal that is kept', () => {
  it('reaches a node that was away with the state (D16)', async () => {
    const { world, group } = await started();
    await refuseAll(world, group, IDS.slice(0, 2));
    const away = world.at(toNodeId(3));
    await away.crash();
    await refuseAll(world, group, IDS.slice(2, 10));
    const { letters } = world.network.counts;
    await away.start();
    expect(await found(world, group)).toEqual([10, 10, 10]);
    expect(world.network.counts.letters).toBeGreaterThan(letters);
    expect((await rows(world, group)).size).toBe(1);
    // It goes on by the log.
    await refuseAll(world, group, IDS.slice(10));
    expect(await found(world, group)).toEqual([12, 12, 12]);
    expect((await rows(world, group)).size).toBe(1);
    expect(world.failures).toEqual([]);
  });

  it('is not asked for where an earlier release may have to read the entry (C23)', async () => {
    const { world, group } = await started(RELEASE_BEFORE);
    const [id] = IDS;
    if (id === undefined) throw new Error('there are ids');
    for (const member of world.up) expect(await refuse(world, member, group, id)).toBe('LevelNotReached');
    expect(world.failures).toEqual([]);
  });
});
