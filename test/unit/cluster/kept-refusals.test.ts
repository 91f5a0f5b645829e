// Goal: no cluster accepts an entry that keeps its refusal while an earlier release may have to read it (C23, D25, ADR
// 0142). Method: nodes in one thread over the real machines.
import { expect, it } from 'vitest';
import { LEVEL_FIRST } from '#base';
import { encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { shopOnThree } from '../../support/cluster/kept-world.ts';
import { reasonOf } from '../../support/cluster/outcomes.ts';
import type { Release } from '../../support/cluster/replica-world.ts';
import { eventBytes } from '../../support/events.ts';

/** As it was before refusals were kept. */
const RELEASE_BEFORE: Release = { levels: { min: LEVEL_FIRST, max: 3 }, machines: databaseMachines };

it('a refusal that is kept is not asked for where an earlier release may have to read the entry (C23)', async () => {
  const { world, group } = await shopOnThree(3, { release: RELEASE_BEFORE });
  const payload = encodeTransactPayload({
    transactionId: new Uint8Array(16).fill(1),
    origin: ORIGIN.HTTP_TRANSACTION,
    options: NO_OPTIONS,
    constraints: [{ kind: 'min-revision', revision: 10_000 }],
    events: [eventBytes({})],
    keepsRefusal: true,
  });
  for (const { front } of world.up) {
    expect(await world.answer(reasonOf(front.transact(group, payload)))).toBe('LevelNotReached');
  }
  expect(world.failures).toEqual([]);
});
