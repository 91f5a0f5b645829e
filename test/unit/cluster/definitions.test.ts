// Goal: every replica stores definitions from any node (D22, D23, ADR 0105). Method: the real machines.
import { expect, it } from 'vitest';
import type { DatabaseError, GroupId } from '#base';
import type { DefinitionOutcome } from '#database';
import { BLOB_PART_BYTES, type DefinitionEntry, encodeDefinitionEntry, toVersionNumber } from '#model';
import { shopOnThree } from '../../support/cluster/kept-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import type { ReplicaWorld, WorldNode } from '../../support/cluster/replica-world.ts';
import { blobOf, DEFINITIONS, partOf } from '../../support/definition-entries.ts';

const LARGE = blobOf('c', BLOB_PART_BYTES + 5);
const SMALL = blobOf('a', 30);
const [FIRST, SECOND] = DEFINITIONS;
if (FIRST === undefined || SECOND === undefined) throw new Error('there are two definitions');

const ENTRIES: readonly DefinitionEntry[] = [
  { kind: 'define', blob: LARGE, definition: FIRST, isInactive: false },
  partOf(LARGE, 0),
  partOf(LARGE, 1),
  { kind: 'define', blob: LARGE, definition: FIRST, isInactive: false },
  partOf(SMALL, 0),
  { kind: 'define', blob: SMALL, definition: SECOND, isInactive: false },
  { kind: 'delete', component: FIRST.kind, name: FIRST.name, version: undefined, onlyInactive: false },
];
const OUTCOMES: readonly DefinitionOutcome[] = [
  { kind: 'no-component', next: 0 },
  { kind: 'part-taken', next: 1 },
  { kind: 'part-taken', next: 2 },
  { kind: 'defined', version: toVersionNumber(1), isNew: true },
  { kind: 'part-taken', next: 1 },
  { kind: 'defined', version: toVersionNumber(1), isNew: true },
  { kind: 'deleted' },
];

function define(world: ReplicaWorld, member: WorldNode, group: GroupId, entry: DefinitionEntry): Promise<unknown> {
  return world.answer(
    member.front.define(group, encodeDefinitionEntry(entry)).catch(({ details }: DatabaseError) => details.reason),
  );
}

async function defineAll(world: ReplicaWorld, group: GroupId, entries = ENTRIES): Promise<readonly unknown[]> {
  const outcomes: unknown[] = [];
  for (const [at, entry] of entries.entries()) {
    const member = world.up[at % world.up.length];
    if (member === undefined) throw new Error('a node runs');
    outcomes.push(await define(world, member, group, entry));
    await world.answer(member.transact(group, `text ${at} of ${entries.length}`));
  }
  return outcomes;
}

async function shared(world: ReplicaWorld, group: GroupId): Promise<readonly string[]> {
  const revision = await world.answer((await world.leader(group)).front.latest(group));
  await world.until(() => world.up.every(({ front }) => front.readable(group) >= revision), 'all of it', 60_000);
  return Promise.all(world.up.map(async ({ front }) => JSON.stringify(await databaseKit.shared(front.reader, group))));
}

function started(): ReturnType<typeof shopOnThree> {
  const limits = { tailBytesMax: 300, retainedBytesMax: 300, snapshotPartBytes: 4000, snapshotWindowBytes: 16_000 };
  return shopOnThree(3, { limits });
}

it('an unreadable definition is rejected on the node that received it, and readable ones are stored through any node', async () => {
  const { world, group } = await started();
  const [first] = ENTRIES;
  if (first === undefined) throw new Error('there are entries');
  const whole = encodeDefinitionEntry(first);
  for (const payload of [whole.subarray(0, -1), new Uint8Array([...whole, 0]), new Uint8Array(0)]) {
    for (const { front } of world.up) {
      await expect(world.answer(front.define(group, payload))).rejects.toMatchObject({
        code: 'internal',
        details: { reason: 'UnreadableDefinition' },
      });
    }
  }
  expect(await defineAll(world, group)).toEqual(OUTCOMES);
  expect(new Set(await shared(world, group)).size).toBe(1);
  expect(world.failures).toEqual([]);
});
