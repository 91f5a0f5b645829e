// Every check can fail: the history of a good run is slightly falsified in every way that a check should detect, and
// that check must report it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Evidence } from './checks/evidence.ts';
import { type Change, falsify, faultsOf, first, goodEvidence, inHistory, inLog, succeeded } from './falsified.ts';
import type { AnyOperation, CallKind, History, Operation, TransactionSeen } from './history.ts';

let good: Evidence;

beforeAll(async () => {
  good = await goodEvidence();
}, 60_000);

const NOBODY = '019b76da-0000-7000-8000-000000000000';

const faultsIn = (by: (history: History) => void): string => faultsOf(good, inHistory(by));

/** Changes the successful answers to a kind of call, except where `by` returns nothing. */
function answers<Kind extends CallKind>(
  kind: Kind,
  by: (answer: ReturnType<typeof succeeded<Kind>>[number], place: number) => object | undefined,
): Change {
  return inHistory((history) => {
    for (const [place, answer] of succeeded(history, kind).entries()) {
      const change = by(answer, place);
      if (change !== undefined) falsify(answer.value, change);
    }
  });
}

/** Changes the final transactions. */
function each(by: (transaction: TransactionSeen) => Partial<TransactionSeen>): Change {
  return { finals: inLog((all) => all.map((one) => ({ ...one, ...by(one) }))) };
}

/** A deletion that succeeded. */
function deletion(
  request: Operation<'delete'>['request'],
  [invokedUs, returnedUs]: readonly [number, number],
  databaseId: string | undefined,
): Operation<'delete'> {
  const asked = { number: 100_000, client: 'test', isDoubled: false, session: undefined };
  return { ...asked, kind: 'delete', request, invokedUs, returnedUs, outcome: { kind: 'ok', value: { databaseId } } };
}

/** A transaction that was acknowledged by an instance before its recovery, and not kept. */
function recovery(by: (transactionId: string) => object): Change {
  return inHistory((history) => {
    const { databaseId } = first(good.finals);
    const recorded = succeeded(history, 'transact').flatMap(({ value }) =>
      value.kind === 'recorded' && value.databaseId === databaseId ? [value] : [],
    );
    const value = first(recorded);
    falsify(value, { databaseId: 'the one before', recordedTimeMs: 1 });
    const accepted = { before: 'the one before', databaseId, revision: value.revision };
    history.recoveries.push({ ...accepted, ...by(value.transactionId) });
  });
}

/**
 * A definite failure of a transaction that was recorded. `isToldLater`: a client that repeated it at the end received
 * the record.
 */
function failed(isToldLater: boolean): Change {
  return inHistory((history) => {
    const { operations } = history;
    const endUs = Math.max(...operations.flatMap(({ returnedUs: us }) => (Number.isFinite(us) ? [us] : [])));
    const error = { kind: 'error', code: 'busy', reason: undefined, isDefinite: true } as const;
    for (const { operation, value } of succeeded(history, 'transact')) {
      if (value.kind !== 'recorded') continue;
      const again = { ...operation, number: operations.length, invokedUs: endUs + 1, returnedUs: endUs + 2 };
      const outcome = { kind: 'ok', value: { ...value, replayed: true } };
      if (isToldLater) operations.push({ ...again, outcome } as AnyOperation);
      Object.assign(operation, { outcome: error, isDoubled: isToldLater ? operation.isDoubled : false });
    }
  });
}

const FALSIFIED: readonly (readonly [check: number, what: string, change: Change])[] = [
  [1, 'a revision that is missing', { finals: inLog((all) => all.toSpliced(2, 1)) }],
  [1, 'a body that was changed', each(({ body }) => ({ body: body.slice(1) }))],
  [1, 'events nobody sent', each(({ events }) => ({ events: events.map((event) => ({ ...event, text: 'other' })) }))],
  [1, 'stored ids against the rule', each(() => ({ storedIds: [[0, 'x'] as const] }))],
  [
    2,
    'an order against real time',
    { finals: inLog((all) => all.toReversed().map((one, place) => ({ ...one, revision: place + 1 }))) },
  ],
  [
    3,
    'a latest read that is stale',
    answers('describe', ({ operation: { request } }) =>
      request && 'at' in request && request.at === 'latest' ? { revision: 0 } : undefined,
    ),
  ],
  [
    3,
    'a revision that nobody can know yet',
    answers('describe', ({ operation }) => void Object.assign(operation, { returnedUs: 1 })),
  ],
  [
    4,
    'a commit against its constraints',
    inHistory((history) => {
      const constraints = [{ kind: 'min-revision', revision: 1_000_000 }];
      for (const { request } of history.of('transact')) falsify(request, { constraints });
    }),
  ],
  [
    4,
    'a refusal without a reason',
    answers('transact', ({ value }) =>
      value.kind === 'refused' ? { violations: [{ index: 0, found: 99_999 }] } : undefined,
    ),
  ],
  [
    5,
    'answers that differ',
    answers('transact', ({ value }) =>
      value.kind === 'recorded' && value.replayed ? { recordedTimeMs: 1 } : undefined,
    ),
  ],
  [
    5,
    'two answers that both call themselves new',
    answers('transact', ({ value }) => (value.kind === 'recorded' ? { replayed: false } : undefined)),
  ],
  [6, 'an effect of what failed for sure', failed(false)],
  [6, 'an effect of what failed for sure, told to a client that sent it again when others had seen it', failed(true)],
  [7, 'a query that leaves something out', answers('query', ({ value }) => ({ events: value.events.slice(1) }))],
  [
    8,
    'a session that goes back',
    inHistory((history) => {
      const cached = history.operations.filter(
        ({ request, outcome }) => 'at' in request && request.at === 'cached' && outcome.kind === 'ok',
      );
      for (const [place, operation] of cached.entries()) {
        operation.session = 'one';
        if (operation.outcome.kind !== 'ok') continue;
        falsify(operation.outcome.value, { revision: cached.length - place, databaseId: 'one' });
      }
    }),
  ],
  [
    9,
    'a subscription with a gap',
    inHistory((history) => {
      for (const { items } of history.subscriptions) {
        const place = items.findIndex(({ kind }) => kind === 'events');
        if (place >= 0) items.splice(place, 1);
      }
    }),
  ],
  [
    9,
    'a subscriber that is left behind',
    { finals: (final) => ({ ...final, followers: [{ client: 'follower-1', number: 1 }] }) },
  ],
  [10, 'time that goes back', each(({ revision }) => ({ recordedTimeMs: -revision }))],
  [
    11,
    'a name that means two instances',
    answers('transact', (_answer, place) => (place < 3 ? { databaseId: NOBODY } : undefined)),
  ],
  [
    11,
    'an answer from an instance that is gone',
    inHistory((history) => {
      const { operation, value } = first(succeeded(history, 'create'));
      const times = [operation.returnedUs + 1, operation.returnedUs + 2] as const;
      history.operations.push(deletion({ name: 'alpha' }, times, value.databaseId));
    }),
  ],
  [
    11,
    'a delete by the id of one instance that deletes another',
    inHistory((history) => {
      const { operation, value } = first(succeeded(history, 'describe').toReversed());
      const request = { name: operation.request.name, databaseId: NOBODY };
      const times = [Number.MAX_SAFE_INTEGER - 2, Number.MAX_SAFE_INTEGER - 1] as const;
      history.operations.push(deletion(request, times, value.databaseId));
    }),
  ],
  [
    11,
    'a subscription to an instance that is gone',
    inHistory((history) => {
      const { scope, invokedUs } = first(history.subscriptions.filter((one) => one.scope !== undefined));
      const request = { name: 'nobody', databaseId: scope?.databaseId };
      history.operations.push(deletion(request, [invokedUs - 2, invokedUs - 1], undefined));
    }),
  ],
  [
    12,
    'a revision that is denied',
    inHistory((history) => {
      const told = succeeded(history, 'describe').filter(({ value: { revision } }) => revision > 0);
      const { operation, value: scope } = first(told);
      const denied = { kind: 'error', code: 'not_found', reason: 'RevisionNotFound', isDefinite: true } as const;
      operation.outcome = { ...denied, scope };
      Object.assign(operation.request, { at: 0 });
    }),
  ],
  [13, 'an acknowledged transaction that is lost', { finals: inLog((all) => all.slice(0, -3)) }],
  [14, 'a recovered instance without what was acknowledged of the one before', recovery(() => ({}))],
  [
    14,
    'a recovered instance without what the replica held beyond what was accepted',
    recovery((transactionId) => ({ revision: 0, held: new Set([transactionId]) })),
  ],
  [
    14,
    'an answer from what was before a cluster that began with what was left of it',
    inHistory((history) => {
      const { databaseId } = first(good.finals);
      const told = succeeded(history, 'describe').filter(({ value }) => value.databaseId === databaseId);
      const atUs = first(told).operation.returnedUs + 1;
      history.refoundings.push({ endedUs: atUs, beganUs: atUs });
    }),
  ],
];

it('checks find nothing in a good run', () => {
  expect(faultsOf(good, {})).toBe('');
});

it.each(FALSIFIED)('checks number %i finds %s', (number, _what, change) => {
  expect(faultsOf(good, change)).toContain(`check ${number}:`);
});

describe('check 11', () => {
  const create = (outcome: AnyOperation['outcome']): string =>
    faultsIn(({ operations }) => {
      const asked = { client: 'test', isDoubled: false, session: undefined };
      const request = { name: 'of-which-nobody-knows' };
      const tried = { ...asked, number: 100_000, kind: 'create', request, invokedUs: 1, returnedUs: 2, outcome };
      const nothing = { kind: 'ok', value: [] };
      const listed = { ...asked, number: 100_001, kind: 'list', request: {}, invokedUs: 3, returnedUs: 4 };
      operations.push(tried as unknown as AnyOperation);
      operations.push({ ...listed, outcome: nothing } as unknown as AnyOperation);
    });
  const error = { kind: 'error', code: 'unavailable', reason: 'OutcomeUnknown' } as const;

  it('accepts that a creation with an unknown outcome never happens', () => {
    expect(create({ ...error, isDefinite: false })).not.toContain('of-which-nobody-knows');
  });

  it('requires that an acknowledged creation happens', () => {
    const value = { databaseId: '019b76da-0000-7000-8000-000000000001', revision: 0, createdAtMs: 0 };
    expect(create({ kind: 'ok', value })).toContain('of-which-nobody-knows');
  });

  it('reports the names that are undecided', () => {
    const found = faultsIn(({ operations }) => {
      const one = (kind: CallKind, atUs: number, value: unknown): void => {
        const asked = { client: 'test', isDoubled: false, session: undefined, number: 100_000 + operations.length };
        const request = { name: 'too-busy', at: 'latest' };
        const times = { invokedUs: atUs, returnedUs: atUs + 1 };
        const outcome = { kind: 'ok', value };
        operations.push({ ...asked, ...times, kind, request, outcome } as unknown as AnyOperation);
      };
      for (let number = 1; number <= 20; number += 1) {
        const own = { databaseId: `instance ${number}`, revision: 0 };
        one('create', 1, { ...own, createdAtMs: 0 });
        one('delete', 1, own);
      }
      one('describe', 3, { databaseId: 'none of these', revision: 0, latestRevision: 0 });
    });
    expect(found).toContain('undecided by check 11: whether what happened to too-busy fits one order');
    expect(found).not.toContain('no order of what happened to too-busy');
  });
});

describe('check 11 (V12)', () => {
  const SECOND_US = 1_000_000;
  const DATABASE = '019b76da-0000-7000-8000-000000000002';
  const own = { databaseId: DATABASE, revision: 0 };
  const BAD = new RegExp(`${DATABASE}|what happened to denied`, 'u');
  type Told = Pick<Operation<'delete'>, 'outcome'>['outcome'];
  type Denial = readonly [kind: CallKind, outcome: AnyOperation['outcome']];
  const error: Denial = [
    'describe',
    { kind: 'error', code: 'not_found', reason: 'DatabaseNotFound', isDefinite: false },
  ];
  const list: Denial = ['list', { kind: 'ok', value: [] }];

  /**
   * Verdict on a database that is created, reported as missing during its deletion, and answers `laterS` seconds later.
   */
  const found = (
    deleted: { readonly outcome: Told; readonly toS: number },
    laterS: number,
    denied = error,
    at = 'cached',
  ): string =>
    faultsIn(({ operations }) => {
      const one = (kind: CallKind, fromS: number, toS: number, outcome: unknown): void => {
        // After all operations of the seed.
        const times = { invokedUs: (1000 + fromS) * SECOND_US, returnedUs: (1000 + toS) * SECOND_US };
        const asked = { client: 'test', isDoubled: false, session: undefined, number: 100_000 + operations.length };
        const request = kind === 'list' ? {} : { name: 'denied', at };
        operations.push({ ...asked, ...times, kind, request, outcome } as unknown as AnyOperation);
      };
      one('create', 1, 2, { kind: 'ok', value: { ...own, createdAtMs: 0 } });
      one('delete', 3, deleted.toS, deleted.outcome);
      one(denied[0], 4, 5, denied[1]);
      const value = { ...own, latestRevision: 0 };
      one('describe', 5 + laterS, 6 + laterS, { kind: 'ok', value });
    });
  const done: Told = { kind: 'ok', value: { databaseId: DATABASE } };

  describe.each([
    ['an error', error],
    ['a list', list],
  ] as const)('by %s', (_what, denied) => {
    it.each(['cached', 'latest'])('an instance may answer until its deletion is acknowledged, at %s', (at) => {
      expect(found({ outcome: done, toS: 8 }, 2, denied, at)).not.toMatch(BAD);
      expect(found({ outcome: { kind: 'unknown' }, toS: Number.POSITIVE_INFINITY }, 10, denied, at)).not.toMatch(BAD);
    });

    it('an instance that was reported as missing does not return', () => {
      expect(found({ outcome: { kind: 'unknown' }, toS: Number.POSITIVE_INFINITY }, 12, denied)).toContain(DATABASE);
      expect(found({ outcome: done, toS: 8 }, 4, denied)).toContain(DATABASE);
    });

    it('a deletion that found nothing does not explain that an instance is reported as missing', () => {
      const nothing = { kind: 'ok', value: {} } as Told;
      expect(found({ outcome: nothing, toS: 8 }, 2, denied)).toContain('what happened to denied');
      expect(found({ outcome: done, toS: 8 }, 2, denied)).not.toContain('what happened to denied');
    });
  });
});
