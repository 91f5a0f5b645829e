/** Tests the checks of effective and recorded times: they detect falsified histories of a good run. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Evidence } from './checks/evidence.ts';
import { type Change, evidenceOf, falsify, faultsOf, inHistory, succeeded } from './falsified.ts';
import type { Calls } from './history.ts';

/** A seed in which a surviving database has many reads by time. */
const SEED = 7;

type Events = Calls['query']['value']['events'];

/** Changes the answers to queries by effective time. */
function queries(change: (events: Events) => Events): Change {
  return inHistory((history) => {
    for (const { request, outcome } of history.of('query'))
      if (outcome.kind === 'ok' && request.query.effectiveTime !== undefined)
        falsify(outcome.value, { events: change(outcome.value.events) });
  });
}

/** Shows a database at another recorded time than requested. */
const AT_ANOTHER_TIME: Change = inHistory((history) => {
  for (const { value } of succeeded(history, 'asOf')) falsify(value, { revision: Math.max(0, value.revision - 1) });
});

/** Denies a time at which the database existed. */
const DENIED: Change = inHistory((history) => {
  for (const { operation, value } of succeeded(history, 'asOf')) {
    const { databaseId, revision, latestRevision } = value;
    const scope = { databaseId, revision: Math.max(revision, latestRevision) };
    operation.outcome = { kind: 'error', code: 'not_found', reason: 'RevisionNotFound', isDefinite: true, scope };
  }
});

describe('the checks of both time axes', () => {
  let good: Evidence;

  beforeAll(async () => void (good = await evidenceOf(SEED, { nodes: 3, times: true })), 60_000);

  it('has seen events with and without a time of their own in one answer, and several at one time', () => {
    const answers = good.history.of('query').flatMap(({ request, outcome }) => {
      const isTimed = request.query.effectiveTime !== undefined && outcome.kind === 'ok';
      return isTimed ? [outcome.value.events.map(({ timeMs }) => timeMs)] : [];
    });
    expect(answers.some((times) => times.includes(undefined) && times.some((each) => each !== undefined))).toBe(true);
    const own = answers.map((times) => times.filter((each) => each !== undefined));
    expect(own.some((times) => new Set(times).size < times.length)).toBe(true);
  });

  it.each<readonly [string, Change, RegExp]>([
    ['nothing in a run that went well', {}, /^$/],
    ['an event that is left out', queries((events) => events.slice(1)), /check 7/],
    ['an event out of the order of effective times', queries((events) => events.toReversed()), /check 7/],
    ['another time', queries((all) => all.map((one) => ({ ...one, timeMs: (one.timeMs ?? 0) + 1 }))), /check 7/],
    ['a database that is shown at another time', AT_ANOTHER_TIME, /check 16/],
    ['a time that is denied', DENIED, /check 12/],
  ])('find %s', (_what, change, found) => {
    expect(faultsOf(good, change)).toMatch(found);
  });
});
