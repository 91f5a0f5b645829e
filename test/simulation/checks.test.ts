/**
 * The checks can fail. A run that went well is falsified, a little, in every way that a check is for, and the check
 * that is meant must say so.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Evidence } from './checks/evidence.ts';
import { type Change, falsify, faultsOf, first, goodEvidence, succeeded, withTransactions } from './falsified.ts';
import type { AnyOperation, CallKind, Operation } from './history.ts';

let good: Evidence;

beforeAll(async () => {
  good = await goodEvidence();
}, 60_000);

describe('checks', () => {
  it('find nothing in a run that went well', () => {
    expect(faultsOf(good, {})).toBe('');
  });

  it.each<[number, string, Change]>([
    [1, 'a revision that is missing', { finals: withTransactions((all) => all.toSpliced(2, 1)) }],
    [
      1,
      'a body that was changed',
      { finals: withTransactions((all) => all.map((each) => ({ ...each, body: each.body.slice(1) }))) },
    ],
    [
      1,
      'events that nobody sent',
      {
        finals: withTransactions((all) =>
          all.map((each) => ({ ...each, events: each.events.map((event) => ({ ...event, text: 'other' })) })),
        ),
      },
    ],
    [
      1,
      'stored ids against the rule',
      { finals: withTransactions((all) => all.map((each) => ({ ...each, storedIds: [[0, 'x'] as const] }))) },
    ],
    [
      2,
      'an order against real time',
      { finals: withTransactions((all) => all.toReversed().map((each, place) => ({ ...each, revision: place + 1 }))) },
    ],
    [
      3,
      'a latest read that is stale',
      {
        history: (history) => {
          for (const { operation, value } of succeeded(history, 'describe'))
            if (operation.request && 'at' in operation.request && operation.request.at === 'latest')
              falsify(value, { revision: 0 });
        },
      },
    ],
    [
      3,
      'a revision that nobody can know yet',
      {
        history: (history) => {
          for (const { operation } of succeeded(history, 'describe')) operation.returnedUs = 1;
        },
      },
    ],
    [
      4,
      'a commit against its constraints',
      {
        history: (history) => {
          for (const { request } of history.of('transact'))
            falsify(request, { constraints: [{ kind: 'min-revision', revision: 1_000_000 }] });
        },
      },
    ],
    [
      4,
      'a refusal without a reason',
      {
        history: (history) => {
          for (const { value } of succeeded(history, 'transact'))
            if (value.kind === 'refused') falsify(value, { violations: [{ index: 0, found: 99_999 }] });
        },
      },
    ],
    [
      5,
      'answers that differ',
      {
        history: (history) => {
          for (const { value } of succeeded(history, 'transact'))
            if (value.kind === 'recorded' && value.replayed) falsify(value, { recordedTimeMs: 1 });
        },
      },
    ],
    [
      5,
      'two answers that both call themselves new',
      {
        history: (history) => {
          for (const { value } of succeeded(history, 'transact'))
            if (value.kind === 'recorded') falsify(value, { replayed: false });
        },
      },
    ],
    [
      6,
      'an effect of what failed for sure',
      {
        history: (history) => {
          for (const operation of history.of('transact')) {
            operation.outcome = { kind: 'error', code: 'busy', reason: undefined, isDefinite: true };
            operation.isDoubled = false;
          }
        },
      },
    ],
    [
      6,
      'an effect of what failed for sure, told to whoever sent it again when others had seen it',
      {
        history: (history) => {
          const { operations } = history;
          const endUs = Math.max(...operations.flatMap(({ returnedUs: us }) => (Number.isFinite(us) ? [us] : [])));
          for (const { operation, value } of succeeded(history, 'transact')) {
            if (value.kind !== 'recorded') continue;
            operations.push({
              ...operation,
              number: operations.length,
              invokedUs: endUs + 1,
              returnedUs: endUs + 2,
              outcome: { kind: 'ok', value: { ...value, replayed: true } },
            } as AnyOperation);
            operation.outcome = { kind: 'error', code: 'busy', reason: undefined, isDefinite: true };
          }
        },
      },
    ],
    [
      7,
      'a query that leaves something out',
      {
        history: (history) => {
          for (const { value } of succeeded(history, 'query')) falsify(value, { events: value.events.slice(1) });
        },
      },
    ],
    [
      8,
      'a session that goes back',
      {
        history: (history) => {
          const cached = history.operations.filter(
            ({ request, outcome }) => 'at' in request && request.at === 'cached' && outcome.kind === 'ok',
          );
          for (const [place, operation] of cached.entries())
            if (operation.outcome.kind === 'ok')
              falsify(operation.outcome.value, { revision: cached.length - place, databaseId: 'one' });
          for (const operation of cached) operation.session = 'one';
        },
      },
    ],
    [
      9,
      'a subscription with a gap',
      {
        history: (history) => {
          for (const { items } of history.subscriptions) {
            const place = items.findIndex(({ kind }) => kind === 'events');
            if (place >= 0) items.splice(place, 1);
          }
        },
      },
    ],
    [
      9,
      'a subscriber that is left behind',
      { finals: (final) => ({ ...final, followers: [{ client: 'follower-1', number: 1 }] }) },
    ],
    [
      10,
      'time that goes back',
      { finals: withTransactions((all) => all.map((each) => ({ ...each, recordedTimeMs: -each.revision }))) },
    ],
    [
      11,
      'a name that means two instances',
      {
        history: (history) => {
          for (const { value } of succeeded(history, 'transact').slice(0, 3))
            falsify(value, { databaseId: '019b76da-0000-7000-8000-000000000000' });
        },
      },
    ],
    [
      11,
      'an answer from an instance that is gone',
      {
        history: (history) => {
          const { operation, value } = first(succeeded(history, 'create'));
          const gone: Operation<'delete'> = {
            number: 100_000,
            kind: 'delete',
            client: 'test',
            request: { name: 'alpha' },
            isDoubled: false,
            invokedUs: operation.returnedUs + 1,
            returnedUs: operation.returnedUs + 2,
            session: undefined,
            outcome: { kind: 'ok', value: { databaseId: value.databaseId } },
          };
          history.operations.push(gone);
        },
      },
    ],
    [
      11,
      'a delete by the id of one instance that deletes another',
      {
        history: (history) => {
          const living = succeeded(history, 'describe').at(-1);
          if (living === undefined) throw new Error('The seed ends with descriptions');
          const { operation, value } = living;
          const gone: Operation<'delete'> = {
            number: 100_000,
            kind: 'delete',
            client: 'test',
            request: { name: operation.request.name, databaseId: '019b76da-0000-7000-8000-000000000000' },
            isDoubled: false,
            invokedUs: Number.MAX_SAFE_INTEGER - 2,
            returnedUs: Number.MAX_SAFE_INTEGER - 1,
            session: undefined,
            outcome: { kind: 'ok', value: { databaseId: value.databaseId } },
          };
          history.operations.push(gone);
        },
      },
    ],
    [
      11,
      'a subscription to an instance that is gone',
      {
        history: (history) => {
          const [followed] = history.subscriptions.filter(({ scope }) => scope !== undefined);
          if (followed === undefined) throw new Error('The seed has a subscription that was answered');
          const gone: Operation<'delete'> = {
            number: 100_000,
            kind: 'delete',
            client: 'test',
            request: { name: 'nobody', databaseId: followed.scope?.databaseId },
            isDoubled: false,
            invokedUs: followed.invokedUs - 2,
            returnedUs: followed.invokedUs - 1,
            session: undefined,
            outcome: { kind: 'ok', value: { databaseId: undefined } },
          };
          history.operations.push(gone);
        },
      },
    ],
    [
      12,
      'a revision that is denied',
      {
        history: (history) => {
          const { operation, value } = first(
            succeeded(history, 'describe').filter(({ value: { revision } }) => revision > 0),
          );
          operation.outcome = {
            kind: 'error',
            code: 'not_found',
            reason: 'RevisionNotFound',
            isDefinite: true,
            scope: value,
          };
          Object.assign(operation.request, { at: 0 });
        },
      },
    ],
    [13, 'an acknowledged transaction that is lost', { finals: withTransactions((all) => all.slice(0, -3)) }],
    [
      14,
      'a recovered instance without what was acknowledged of the one before',
      {
        history: (history) => {
          const { databaseId } = first(good.finals);
          const recorded = succeeded(history, 'transact').flatMap(({ value }) =>
            value.kind === 'recorded' && value.databaseId === databaseId ? [value] : [],
          );
          const value = first(recorded);
          falsify(value, { databaseId: 'the one before', recordedTimeMs: 1 });
          history.recoveries.push({ before: 'the one before', databaseId, revision: value.revision });
        },
      },
    ],
    [
      14,
      'a recovered instance without what the copy held beyond what was accepted',
      {
        history: (history) => {
          const { databaseId } = first(good.finals);
          const recorded = succeeded(history, 'transact').flatMap(({ value }) =>
            value.kind === 'recorded' && value.databaseId === databaseId ? [value] : [],
          );
          const value = first(recorded);
          falsify(value, { databaseId: 'the one before', recordedTimeMs: 1 });
          const held = new Set([value.transactionId]);
          history.recoveries.push({ before: 'the one before', databaseId, revision: 0, held });
        },
      },
    ],
    [
      14,
      'an answer from what was before a cluster that began with what was left of it',
      {
        history: (history) => {
          const describes = succeeded(history, 'describe').filter(
            ({ value }) => value.databaseId === first(good.finals).databaseId,
          );
          const { returnedUs } = first(describes).operation;
          history.refoundings.push({ endedUs: returnedUs + 1, beganUs: returnedUs + 1 });
        },
      },
    ],
  ])('number %i finds %s', (number, _what, change) => {
    expect(faultsOf(good, change)).toContain(`check ${number}:`);
  });
});

describe('check 11', () => {
  const create = (outcome: AnyOperation['outcome']): string =>
    faultsOf(good, {
      history: ({ operations }) => {
        const asked = { client: 'test', isDoubled: false, session: undefined };
        const request = { name: 'of-which-nobody-knows' };
        const tried = { ...asked, number: 100_000, kind: 'create', request, invokedUs: 1, returnedUs: 2, outcome };
        const nothing = { kind: 'ok', value: [] };
        const listed = { ...asked, number: 100_001, kind: 'list', request: {}, invokedUs: 3, returnedUs: 4 };
        operations.push(tried as unknown as AnyOperation);
        operations.push({ ...listed, outcome: nothing } as unknown as AnyOperation);
      },
    });
  const error = { kind: 'error', code: 'unavailable', reason: 'OutcomeUnknown' } as const;

  it('takes a creation of which nobody knows for one that may never happen', () => {
    expect(create({ ...error, isDefinite: false })).not.toContain('of-which-nobody-knows');
  });

  it('takes one that was answered for one that has', () => {
    const value = { databaseId: '019b76da-0000-7000-8000-000000000001', revision: 0, createdAtMs: 0 };
    expect(create({ kind: 'ok', value })).toContain('of-which-nobody-knows');
  });

  it('says of which name it has found out nothing', () => {
    const found = faultsOf(good, {
      history: ({ operations }) => {
        const one = (kind: CallKind, atUs: number, value: unknown): void => {
          const asked = { client: 'test', isDoubled: false, session: undefined, number: 100_000 + operations.length };
          const request = { name: 'too-busy', at: 'latest' };
          const times = { invokedUs: atUs, returnedUs: atUs + 1 };
          operations.push({
            ...asked,
            ...times,
            kind,
            request,
            outcome: { kind: 'ok', value },
          } as unknown as AnyOperation);
        };
        for (let number = 1; number <= 20; number += 1) {
          const own = { databaseId: `instance ${number}`, revision: 0 };
          one('create', 1, { ...own, createdAtMs: 0 });
          one('delete', 1, own);
        }
        one('describe', 3, { databaseId: 'none of these', revision: 0, latestRevision: 0 });
      },
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

  /** What is said of a database that is created, denied while its deletion is under way, and answers so much later. */
  const found = (
    deleted: { readonly outcome: Told; readonly toS: number },
    laterS: number,
    denied = error,
    at = 'cached',
  ): string =>
    faultsOf(good, {
      history: ({ operations }) => {
        const one = (kind: CallKind, fromS: number, toS: number, outcome: unknown): void => {
          // Behind everything that the seed asks.
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
      },
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

    it('no instance comes back that was denied', () => {
      expect(found({ outcome: { kind: 'unknown' }, toS: Number.POSITIVE_INFINITY }, 12, denied)).toContain(DATABASE);
      expect(found({ outcome: done, toS: 8 }, 4, denied)).toContain(DATABASE);
    });

    it('nobody denies an instance because of a deletion that found nothing', () => {
      const nothing = { kind: 'ok', value: {} } as Told;
      expect(found({ outcome: nothing, toS: 8 }, 2, denied)).toContain('what happened to denied');
      expect(found({ outcome: done, toS: 8 }, 2, denied)).not.toContain('what happened to denied');
    });
  });
});
