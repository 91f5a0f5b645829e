// Every part of the checks of reads, sessions, subscriptions and times can fail by itself: each falsified history here
// is one that no other part of the same check would detect.
import { beforeAll, expect, it } from 'vitest';
import type { Evidence } from './checks/evidence.ts';
import { type Change, falsify, faultsOf, first, goodEvidence, inHistory, succeeded } from './falsified.ts';
import type { CallKind, FollowItem, Operation } from './history.ts';

let good: Evidence;

beforeAll(async () => {
  good = await goodEvidence();
}, 60_000);

/** Falsifies the first suitable success of a kind of call. */
function value<Kind extends CallKind>(
  kind: Kind,
  by: (
    value: Parameters<typeof falsify>[0] & ReturnType<typeof succeeded<Kind>>[number]['value'],
  ) => object | undefined,
): Change {
  return inHistory((history) => {
    for (const { value: each } of succeeded(history, kind)) {
      const change = by(each);
      if (change === undefined) continue;
      falsify(each, change);
      return;
    }
    throw new Error(`The seed has no ${kind} to falsify`);
  });
}

/** Changes the items of the first subscription with two delivered events. */
function delivered(by: (items: FollowItem[], place: number) => unknown): Change {
  return inHistory((history) => {
    for (const { items } of history.subscriptions) {
      const place = items.findIndex((item) => item.kind === 'events' && item.events.length > 0);
      if (place >= 0) return void by(items, place);
    }
    throw new Error('The seed has no subscription that was delivered anything');
  });
}

/** Two different answers of a deleted instance to the same query. */
const OF_THE_GONE: Change = inHistory((history) => {
  const { operation, value: answer } = first(
    succeeded(history, 'query').filter(({ value: { events } }) => events.length > 0),
  );
  const again = structuredClone(operation) as Operation<'query'>;
  const gone = { databaseId: '019b76da-0000-7000-8000-00000000dead' };
  falsify(answer, gone);
  if (again.outcome.kind === 'ok') falsify(again.outcome.value, { ...gone, events: answer.events.slice(1) });
  history.operations.push({ ...again, number: 100_000 });
});

const BELOW_ITS_FLOOR: Change = inHistory((history) => {
  const cached = history
    .of('describe')
    .filter(({ request, outcome }) => request.at === 'cached' && outcome.kind === 'ok');
  falsify(first(cached).request, { minRevision: 1_000_000 });
});

/** The event with another content than was sent. */
const changed = <Event extends object>(event: Event): Event => ({ ...event, text: 'other' });

const BEAT_AHEAD: FollowItem = { kind: 'heartbeat', atUs: 0, revision: 0, position: { revision: 1_000_000, index: 0 } };

const FALSIFIED: readonly (readonly [fault: RegExp, what: string, change: Change])[] = [
  [/7: .*describe.* answers/, 'another count', value('describe', ({ eventCount }) => ({ eventCount: eventCount + 1 }))],
  [
    /7: .*describe.* answers/,
    'another hash',
    value('describe', ({ revision }) => (revision > 0 ? { chainHash: 'other' } : undefined)),
  ],
  [
    /7: .*describe.* answers/,
    'another time',
    value('describe', ({ revisionTimeMs }) => ({ revisionTimeMs: revisionTimeMs + 1 })),
  ],
  [/7: .*event.* answers/, 'another event', value('event', ({ event }) => ({ event: changed(event) }))],
  [
    /7: .*names.* answers/,
    'a name that is left out',
    value('names', ({ names }) => (names.length > 0 ? { names: names.slice(1) } : undefined)),
  ],
  [
    /7: .*fetch.* answers/,
    'a transaction with another body',
    value('fetch', ({ transaction }) => ({ transaction: { ...transaction, body: 'other' } })),
  ],
  [
    /7: .*log.* answers/,
    'a log without a transaction',
    value('log', ({ transactions: all }) => (all.length > 0 ? { transactions: all.slice(1) } : undefined)),
  ],
  [
    /7: .*log.* answers/,
    'a log in another order',
    value('log', ({ transactions: all }) => (all.length > 1 ? { transactions: all.toReversed() } : undefined)),
  ],
  [/7: .* have different answers/, 'an answer of a deleted instance that changes', OF_THE_GONE],
  [/8: .*below its floor/, 'a read below its floor', BELOW_ITS_FLOOR],
  [
    /9: .*delivers/,
    'an event that is delivered twice',
    delivered((items, place) => items.splice(place, 0, ...items.slice(place, place + 1))),
  ],
  [
    /9: .*delivers/,
    'an event that was changed on its way',
    delivered((items, place) => {
      const item = items[place];
      if (item?.kind === 'events') items[place] = { ...item, events: item.events.map(changed) };
    }),
  ],
  [
    /9: .*a heartbeat at/,
    'a heartbeat ahead of what was delivered',
    delivered((items, place) => items.splice(place, 0, BEAT_AHEAD)),
  ],
  [
    /10: .*created at/,
    'an instance that was created at another time than its id says',
    { finals: (final) => ({ ...final, createdAtMs: final.createdAtMs - 1 }) },
  ],
];

it.each(FALSIFIED)('a part of a check %s finds %s', (fault, _what, change) => {
  expect(faultsOf(good, change)).toMatch(new RegExp(`check ${fault.source}`));
});
