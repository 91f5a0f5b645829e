/** The checks of effective and recorded times find what is falsified in a run that went well. */
import { beforeAll, describe, expect, it } from 'vitest';
import { checkAll } from './checks/all.ts';
import { Evidence } from './checks/evidence.ts';
import type { Calls, History } from './history.ts';
import { runSeed } from './scenario.ts';

const SEED_MS_MAX = 60_000;
/** A seed in which a database lives to the end of which many ask at times. */
const SEED = 7;

describe('the checks of both axes of time', () => {
  let good: Evidence;

  beforeAll(async () => {
    const { evidence } = await runSeed(SEED, { nodes: 3, times: true });
    if (evidence === undefined) throw new Error('The seed comes to its end');
    good = evidence;
  }, SEED_MS_MAX);

  type Query = Calls['query']['value'];

  /** The faults that are found when queries by effective time are answered otherwise. */
  function faultsOfQueries(change: (events: Query['events']) => Query['events']): readonly string[] {
    return faultsOf(({ operations }) => {
      for (const { kind, request, outcome } of operations) {
        if (kind !== 'query' || outcome.kind !== 'ok' || request.query.effectiveTime === undefined) continue;
        Object.assign(outcome.value, { events: change(outcome.value.events) });
      }
    });
  }

  function faultsOf(falsify: (history: Pick<History, 'operations' | 'subscriptions'>) => void): readonly string[] {
    const { operations, subscriptions, recoveries, refoundings } = good.history;
    const copy = structuredClone({ operations, subscriptions, recoveries, refoundings });
    falsify(copy);
    const history = Object.assign(Object.create(Object.getPrototypeOf(good.history) as object) as History, copy);
    return checkAll(new Evidence(history, good.finals)).faults;
  }

  it('has seen events with and without a time of their own in one answer, and several at one time', () => {
    const answers = good.history.of('query').flatMap(({ request, outcome }) => {
      const isTimed = request.query.effectiveTime !== undefined && outcome.kind === 'ok';
      return isTimed ? [outcome.value.events.map(({ timeMs }) => timeMs)] : [];
    });
    expect(answers.some((times) => times.includes(undefined) && times.some((each) => each !== undefined))).toBe(true);
    const own = answers.map((times) => times.filter((each) => each !== undefined));
    expect(own.some((times) => new Set(times).size < times.length)).toBe(true);
  });

  it('finds nothing in a run that went well', () => {
    expect(faultsOf(() => undefined)).toEqual([]);
  });

  it('finds an event that is left out, and one out of the order of effective times', () => {
    expect(faultsOfQueries((events) => events.slice(1)).join()).toContain('check 7');
    expect(faultsOfQueries((events) => events.toReversed()).join()).toContain('check 7');
  });

  it('finds a time that is not that of the event', () => {
    const later = (events: Query['events']): Query['events'] =>
      events.map((event) => ({ ...event, timeMs: (event.timeMs ?? 0) + 1 }));
    expect(faultsOfQueries(later).join()).toContain('check 7');
  });

  it('finds a database that is shown at another time than the one that was asked for', () => {
    const faults = faultsOf(({ operations }) => {
      for (const { kind, outcome } of operations)
        if (kind === 'asOf' && outcome.kind === 'ok')
          Object.assign(outcome.value, { revision: Math.max(0, outcome.value.revision - 1) });
    });
    expect(faults.join()).toContain('check 16');
  });

  it('finds that a time is denied at which the database was there', () => {
    const faults = faultsOf(({ operations }) => {
      for (const operation of operations) {
        if (operation.kind !== 'asOf' || operation.outcome.kind !== 'ok') continue;
        const { databaseId, revision, latestRevision } = operation.outcome.value;
        const scope = { databaseId, revision: Math.max(revision, latestRevision) };
        operation.outcome = { kind: 'error', code: 'not_found', reason: 'RevisionNotFound', isDefinite: true, scope };
      }
    });
    expect(faults.join()).toContain('check 12');
  });
});
