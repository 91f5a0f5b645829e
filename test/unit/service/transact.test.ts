// Goal: transactions are checked in order (V2), repeats return the first outcome (V3), and outcomes are counted.
// Method: the service of one node.
import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { Faults, or, type Selector, term } from '#model';
import { type Attempt, ServiceWorld } from '../../support/service-world.ts';

const ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';

let world: ServiceWorld;

beforeEach(async () => {
  world = await new ServiceWorld().start();
  await world.database('shop', 1);
});

function faults(): Faults {
  const found = new Faults();
  found.add('events[0].id', 'must not be empty');
  found.add('events[1].source', 'is required');
  return found;
}

async function outcomeOf(name: string, attempt: Attempt): Promise<string> {
  try {
    const reply = await world.transact(name, attempt);
    return reply.kind === 'recorded' ? (reply.replayed ? 'replayed' : 'committed') : 'refused';
  } catch (failure) {
    return failure instanceof DatabaseError ? failure.code : String(failure);
  }
}

describe('the order of checks (V2)', () => {
  const tooLarge = { eventCount: 1001 };
  const violated = { constraints: [{ kind: 'min-revision', revision: 9 }] } as const;

  it.each([
    ['a malformed name, and everything else', 'Shop', { ...tooLarge, faults: faults() }, 'invalid_argument'],
    ['a missing database, and a body that is wrong', 'none', { ...tooLarge, faults: faults() }, 'not_found'],
    ['a recorded id, and a body that is too large', 'shop', { ...tooLarge, transactionId: ID }, 'replayed'],
    ['a recorded id, and a malformed body', 'shop', { faults: faults(), transactionId: ID }, 'replayed'],
    ['a recorded id, and a violated constraint', 'shop', { ...violated, transactionId: ID }, 'replayed'],
    ['a recorded id, and no events', 'shop', { events: [], transactionId: ID }, 'replayed'],
    ['too large, and malformed', 'shop', { ...tooLarge, faults: faults() }, 'too_large'],
    ['too many bytes, and malformed', 'shop', { eventBytes: 1_000_001, faults: faults() }, 'too_large'],
    ['malformed, and a violated constraint', 'shop', { ...violated, faults: faults() }, 'invalid_argument'],
    ['no events', 'shop', { events: [] }, 'invalid_argument'],
    ['a violated constraint', 'shop', violated, 'refused'],
    ['nothing', 'shop', {}, 'committed'],
  ] as const)('reports first: %s', async (_what, name, attempt, expected) => {
    await world.transact('shop', { events: [{ id: 'first' }], transactionId: ID });
    expect(await outcomeOf(name, attempt)).toBe(expected);
  });
});

describe('constraints that are too broad (D13)', () => {
  it('make a transaction too large: nothing is committed or recorded, and each constraint is named', async () => {
    await world.transact('shop');
    const constraints = [0, 1, 2].map((place) => ({
      kind: 'max-revision' as const,
      revision: 0,
      selector: many(place),
    }));
    const attempt = { transactionId: ID, constraints };
    await expect(world.transact('shop', attempt)).rejects.toMatchObject({
      code: 'too_large',
      message: 'constraints[1].selector (and 1 more) cannot be decided within the limits of a transaction',
      details: {
        reason: 'ConstraintTooBroad',
        violations: [1, 2].map((place) => ({ field: `constraints[${place}].selector` })),
        scope: { revision: 2 },
      },
    });
    expect(await world.metric('cairn_transactions_total{origin="grpc",result="too_large"}')).toBe(1);
    expect(await outcomeOf('shop', { transactionId: ID })).toBe('committed');
  });

  /** The ranges of 200 prefixes are within the limit, those of 400 are not. */
  function many(place: number): Selector {
    return or(Array.from({ length: 200 }, (_, n) => term('by-subject-prefix', `${place}-${100 + n}-`)));
  }
});

it('a selector beyond the limits of a transport is rejected before it becomes an entry that no replica can read', async () => {
  const selector = or(Array.from({ length: 400 }, (_, n) => term('by-subject-prefix', `a-${n}-`)));
  const constraints = [
    { kind: 'max-revision', revision: 9 } as const,
    { kind: 'max-revision' as const, revision: 0, selector },
  ];
  await expect(world.transact('shop', { constraints })).rejects.toMatchObject({
    code: 'invalid_argument',
    details: {
      violations: [
        { field: 'constraints[1].selector', description: 'must consist of at most 256 selectors', value: '401' },
      ],
    },
  });
  expect(await outcomeOf('shop', {})).toBe('committed');
});

it('every outcome and every constraint is counted', async () => {
  await world.transact('shop', { transactionId: ID, constraints: [{ kind: 'max-revision', revision: 9 }] });
  await world.transact('shop', { transactionId: ID });
  await outcomeOf('shop', { constraints: [{ kind: 'min-revision', revision: 9 }] });
  await outcomeOf('shop', { faults: faults() });
  await outcomeOf('shop', { eventCount: 1001 });
  const results = ['committed', 'replayed', 'conflict', 'invalid', 'too_large'];
  const counts = await Promise.all(
    results.map((result) => world.metric(`cairn_transactions_total{origin="grpc",result="${result}"}`)),
  );
  expect(counts).toEqual([2, 1, 1, 1, 1]);
  expect(await world.metric('cairn_constraint_checks_total{kind="max_revision",result="held"}')).toBe(1);
  expect(await world.metric('cairn_constraint_checks_total{kind="min_revision",result="violated"}')).toBe(1);
  expect(await world.metric('cairn_transaction_events_count')).toBe(2);
});
