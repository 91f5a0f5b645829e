// Goal: followers of the shared feed get every matching event once, in order, within its memory limit (V7). Method:
// random commits, selectors and followers, compared with a plain list.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { matcherOf, type Position, type Selector } from '#model';
import { pulled, Slice } from '#query';
import { endOf, TailFeed } from '../../../src/service/tail-feed.ts';
import { CREATED_AT_MS, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { arbSelectable, arbSelector } from '../../support/selectors.ts';

const SKETCH = { source: 'a', type: 't' };
const LIMITS = { tailBytesMax: 600, tailGapMax: 20 };

type Step =
  | { readonly kind: 'commit'; readonly events: readonly Parameters<KnownDatabase['apply']>[0][number][] }
  | { readonly kind: 'follow'; readonly follower: number; readonly countMax: number };

const arbStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const), events: fc.array(arbSelectable, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constant('follow' as const), follower: fc.nat(2), countMax: fc.integer({ min: 1, max: 5 }) }),
);

interface Follower {
  readonly selector: Selector;
  position: Position;
  readonly seen: string[];
  missed: number;
}

function placeOf({ revision, index }: Position): string {
  return `${revision}.${index}`;
}

function naivelyBehind(database: KnownDatabase, { selector, position }: Follower): readonly Position[] {
  const query = { selector, revisions: {}, direction: 'forward' as const };
  return naiveAnswer(database.events, database.revision, query)
    .map((event) => event.position)
    .filter(
      ({ revision, index }) =>
        revision > position.revision || (revision === position.revision && index > position.index),
    );
}

async function follow(feed: TailFeed, database: KnownDatabase, follower: Follower, countMax: number): Promise<void> {
  if (!feed.covers(follower.position)) {
    // The follower lags beyond the feed: it would read from the store, here from the plain list.
    follower.seen.push(...naivelyBehind(database, follower).map(placeOf));
    follower.position = endOf(database.revision);
    follower.missed++;
    return;
  }
  await feed.advance(database.revision);
  if (!feed.covers(follower.position)) return;
  const { events, position } = feed.take(
    follower.position,
    matcherOf(follower.selector),
    new Slice(countMax, pulled()),
  );
  expect(events.length).toBeLessThanOrEqual(countMax);
  follower.seen.push(...events.map((event) => placeOf(event.position)));
  follower.position = position;
}

it('TailFeed (V7) gives every follower the events that it selects, once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbSelector, { minLength: 3, maxLength: 3 }),
      fc.array(arbStep, { maxLength: 60 }),
      async (selectors, steps) => {
        const database = new KnownDatabase(memoryKv());
        const feed = new TailFeed(database.source, 0, LIMITS);
        const followers = selectors.map(
          (selector): Follower => ({ selector, position: endOf(0), seen: [], missed: 0 }),
        );
        for (const step of steps) {
          if (step.kind === 'commit') {
            database.apply(step.events, CREATED_AT_MS + database.revision);
            await database.flush();
            continue;
          }
          const follower = followers[step.follower];
          if (follower !== undefined) await follow(feed, database, follower, step.countMax);
        }
        for (const follower of followers) {
          while (naivelyBehind(database, follower).length > 0) await follow(feed, database, follower, 100);
          const everything = naivelyBehind(database, { ...follower, position: endOf(0) }).map(placeOf);
          expect(follower.seen).toEqual(everything);
        }
      },
    ),
    { numRuns: 200 },
  );
});

it('TailFeed (V7) forgets the oldest revisions as a whole when it has too many bytes', async () => {
  const database = new KnownDatabase(memoryKv());
  const feed = new TailFeed(database.source, 0, LIMITS);
  const count = 40;
  for (let n = 0; n < count; n++) {
    database.apply([SKETCH, SKETCH], CREATED_AT_MS + n);
    await database.flush();
    await feed.advance(database.revision);
  }
  expect(feed.covers(endOf(0))).toBe(false);
  const first = Array.from({ length: count }, (_, revision) => revision).findIndex((revision) =>
    feed.covers(endOf(revision)),
  );
  expect(first).toBeLessThan(count);
  const { events } = feed.take(endOf(first), () => true, new Slice(1000, pulled()));
  const told = events.map((event) => placeOf(event.position));
  expect(told).toEqual(Array.from({ length: 2 * (count - first) }, (_, n) => `${first + 1 + (n >> 1)}.${n % 2}`));
  expect(events.reduce((sum, event) => sum + event.bytes.length, 0)).toBeLessThanOrEqual(LIMITS.tailBytesMax);
});

it('TailFeed (V7) does not cover a position within the revision before its first one', async () => {
  const database = new KnownDatabase(memoryKv());
  database.apply([SKETCH, SKETCH], CREATED_AT_MS);
  await database.flush();
  const feed = new TailFeed(database.source, 1, LIMITS);
  expect([0, 1].map((index) => feed.covers({ revision: 1, index }))).toEqual([false, false]);
  expect(feed.covers(endOf(1))).toBe(true);
});
