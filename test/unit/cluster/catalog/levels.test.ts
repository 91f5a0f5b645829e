// Goal: a cluster is upgraded node by node, and can go one release back until the upgrade is finalized; a release that
// does not know an entry ends (C23, D20). Method: nodes in memory, of two releases.
import { expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  formatLevels,
  type GroupId,
  LEVELS,
  NO_BYTES,
  toGroupId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import type { Entry } from '#raft';
import { knownLevel } from '../../../../src/cluster/admin/levels.ts';
import { join, keptWorld, register, shopOnThree } from '../../../support/cluster/kept-world.ts';
import { lastRelease, NEXT_LEVELS, nextRelease, payloadAt } from '../../../support/cluster/next-release.ts';
import { reasonOf } from '../../../support/cluster/outcomes.ts';
import type { ReplicaWorld, WorldNode } from '../../../support/cluster/replica-world.ts';

const NODES = [1, 2, 3].map(toNodeId);
const NOW = LEVELS.max;
const NEXT = NEXT_LEVELS.max;
const KNOWN = formatLevels(LEVELS);

/** Restarts the node with another release, which registers in the catalog. */
async function change(world: ReplicaWorld, member: WorldNode, release: WorldNode['release']): Promise<unknown> {
  await member.crash();
  member.release = release;
  await member.start();
  return register(world, member.node, release);
}

async function finalize(world: ReplicaWorld): Promise<unknown> {
  return world.answer((await world.leader(CATALOG_GROUP)).core.admin.order({ kind: 'finalize' }));
}

async function write(world: ReplicaWorld, member: WorldNode, group: GroupId, text: string): Promise<void> {
  await world.answer(member.front.transact(group, payloadAt(member.front.catalog.level, text)));
}

function written({ log }: WorldNode, group: GroupId): readonly number[] {
  const payloads = log.durable.flatMap((record) =>
    record.kind === 'entry' && record.group === group && record.payload.length > 0 ? [record] : [],
  );
  for (const { level, payload } of payloads) expect(payload[0]).toBe(level);
  return payloads.map(({ level }) => level);
}

it('an upgrade goes node by node, and one release back, until it is finalized; then entries of the new level are written (C23)', async () => {
  const { world, group } = await shopOnThree();
  const texts: string[] = [];
  const writeAll = async (what: string): Promise<void> => {
    for (const member of world.up) {
      texts.push(`${what} ${member.node}`);
      await write(world, member, group, `${what} ${member.node}`);
    }
  };
  const refusals: unknown[] = [];
  await writeAll('before');
  for (const node of NODES) {
    await change(world, world.at(node), nextRelease);
    await writeAll(`with ${node}`);
    if (node < 3) refusals.push(await finalize(world));
  }
  const reason = (nodes: string): unknown =>
    expect.stringContaining(
      `stays at level ${NOW}, for not every node knows level ${NEXT}: ${nodes}; start the new release there`,
    );
  expect(refusals).toEqual([
    { kind: 'faulty', code: 'failed_precondition', reason: reason(`node 2 knows ${KNOWN}, node 3 knows ${KNOWN}`) },
    { kind: 'faulty', code: 'failed_precondition', reason: reason(`node 3 knows ${KNOWN}`) },
  ]);
  // The older release can return, because nothing was written that it does not know.
  expect(await change(world, world.at(toNodeId(2)), undefined)).toMatchObject({ kind: 'registered' });
  await writeAll('back');
  expect(await finalize(world)).toMatchObject({ reason: expect.stringContaining(`node 2 knows ${KNOWN}; start`) });
  await change(world, world.at(toNodeId(2)), nextRelease);
  for (const member of world.up) {
    expect(new Set(written(member, group))).toEqual(new Set([1]));
    expect(await world.answer(reasonOf(member.front.transact(group, payloadAt(NEXT, 'early'))))).toBe(
      'LevelNotReached',
    );
  }

  expect(await finalize(world)).toEqual({ kind: 'finalized', level: NEXT });
  expect(await finalize(world)).toEqual({ kind: 'finalized', level: NEXT });
  await world.until(() => world.up.every(({ front }) => front.catalog.level === NEXT), 'everybody to know it');
  await writeAll('after');
  for (const member of world.up) {
    await world.answer(member.front.latest(group));
    expect(await member.history(group)).toEqual(texts);
    expect(written(member, group)).toContain(NEXT);
  }
  for (const node of NODES) {
    const member = world.at(node);
    await member.crash();
    await member.start();
    expect(member.core.catalog.level).toBe(NEXT);
  }
  const back = world.at(toNodeId(2));
  await back.crash();
  back.release = undefined;
  await expect(back.start()).rejects.toThrow(`The cluster is at level ${NEXT}, and this release supports ${KNOWN}`);
  expect(world.failures).toEqual([]);
});

it('a release without the first level joins a cluster at a later one, whose log begins there, and may restart on the way (C23)', async () => {
  const world = await keptWorld(3);
  await join(world, [2]);
  const fresh = world.at(toNodeId(3));
  await fresh.crash();
  for (const node of [1, 2].map(toNodeId)) await change(world, world.at(node), nextRelease);
  expect(await finalize(world)).toMatchObject({ kind: 'finalized', level: NEXT });
  fresh.release = lastRelease;
  await fresh.start();
  expect(await register(world, 3, lastRelease)).toMatchObject({ kind: 'registered' });
  await world.until(() => fresh.core.catalog.nodes.length > 0, 'the beginning of the catalog');
  await fresh.crash();
  await fresh.start();
  await world.until(() => fresh.front.catalog.level === NEXT, 'the level of the cluster');
  expect(world.failures).toEqual([]);
});

it('an entry of an unknown level ends the node before the entry is in its log (C23)', () => {
  const levelOf = knownLevel({ machines: nextRelease.machines, levels: LEVELS });
  const entry = (payload: Uint8Array): Entry => ({ index: toLogIndex(7), term: toTerm(1), payload });
  const group = toGroupId(3);
  expect(levelOf(group, entry(payloadAt(1, 'a')))).toBe(1);
  expect(levelOf(group, entry(NO_BYTES))).toBe(1);
  expect(() => levelOf(group, entry(payloadAt(NEXT, 'a')))).toThrow(
    `Entry 7 of group 3 has feature level ${NEXT}, and this release supports ${KNOWN}: start the release that wrote it, or a later one`,
  );
});
