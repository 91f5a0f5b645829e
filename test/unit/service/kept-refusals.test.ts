// Goal: the refusal of an asynchronous transaction is found by its id until a repeat commits (V3, D25, ADR 0142).
// Method: asynchronous transactions on one node, followed by reads of their outcome.
import { describe, expect, it } from 'vitest';
import { refusalError } from '#service';
import { type Attempt, NEVER, ServiceWorld, transactRequest } from '../../support/service-world.ts';

const ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
const VIOLATED = { transactionId: ID, constraints: [{ kind: 'min-revision', revision: 9 }] } as const;

async function later(world: ServiceWorld, attempt: Attempt): Promise<void> {
  const decided = world.service.transact({ ...transactRequest('shop', attempt), onAdmitted: () => undefined });
  await decided.catch(() => undefined);
  // The store contains everything up to a revision that a read has returned.
  await world.transact('shop');
}

function found(world: ServiceWorld): Promise<unknown> {
  return world.service.fetchTransaction({ databaseName: 'shop', transactionId: ID, signal: NEVER });
}

async function started(world = new ServiceWorld()): Promise<ServiceWorld> {
  await world.start();
  await world.database('shop', 1);
  return world;
}

describe('the refusal of a transaction for whose outcome no client waited', () => {
  it('is found with its error and its time', async () => {
    const world = await started();
    const reply = await world.transact('shop', VIOLATED);
    if (reply.kind !== 'refused') throw new Error('Its constraint does not hold');
    const told = refusalError(reply);
    await expect(found(world)).rejects.toMatchObject({ code: 'not_found' });
    await later(world, VIOLATED);
    const { code, message } = told;
    const { constraints } = told.details;
    const refused = { transactionId: ID, revision: 1 };
    const details = { constraints, constraintsField: 'constraints', scope: { revision: 2 }, refused };
    await expect(found(world)).rejects.toMatchObject({ code, message, details });
  });
});
