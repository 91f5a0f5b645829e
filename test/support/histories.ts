// Random histories of a database and random queries, over few values, so that queries match events.
import * as fc from 'fast-check';
import type { Instant } from '#base';
import type { EventQuery } from '#model';
import { CREATED_AT_MS, type EventSketch, type KnownDatabase } from './known-database.ts';
import { arbSelectable, arbSelector } from './selectors.ts';

export interface History {
  readonly steps: readonly HistoryStep[];
}

export interface HistoryStep {
  /** Number of repetitions of the transaction, so that lists become long with few steps. */
  readonly times: number;
  readonly events: readonly EventSketch[];
  /** Milliseconds between commits. */
  readonly passedMs: number;
  /** True when the step ends with a flush to the store. */
  readonly flush: boolean;
}

/** Seconds around the creation: before it, at the same instant, and between two milliseconds. */
const arbInstant: fc.Arbitrary<Instant> = fc.record({
  seconds: fc.integer({ min: -2, max: 3 }).map((seconds) => CREATED_AT_MS / 1000 + seconds),
  nanos: fc.constantFrom(0, 1, 500_000_000, 999_999_999),
});

const arbEvent: fc.Arbitrary<EventSketch> = fc
  .record({
    attributes: arbSelectable,
    instant: fc.option(arbInstant, { nil: undefined }),
    id: fc.option(fc.constantFrom('same', 'other'), { nil: undefined }),
    size: fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.constantFrom(5_000, 20_000) }),
  })
  .map(({ attributes, instant, id, size }) => ({
    ...attributes,
    data: new Uint8Array(size).fill(size),
    ...(instant === undefined ? {} : { time: { instant } }),
    ...(id === undefined ? {} : { id }),
  }));

const arbStep: fc.Arbitrary<HistoryStep> = fc.record({
  times: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 90 }) }),
  events: fc.array(arbEvent, { minLength: 1, maxLength: 5 }),
  passedMs: fc.constantFrom(0, 1, 400, 1_000),
  flush: fc.boolean(),
});

export const arbHistory: fc.Arbitrary<History> = fc.record({ steps: fc.array(arbStep, { maxLength: 12 }) });

/** A query, and the share of the database's revisions at which it is made. */
export interface Question {
  readonly query: EventQuery;
  readonly share: number;
}

const arbRevision = fc.option(fc.oneof(fc.nat(12), fc.nat(400)), { nil: undefined });

const bound = fc.option(arbInstant, { nil: undefined });
export const arbQuery: fc.Arbitrary<Question> = fc.record({
  share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  query: fc.record(
    {
      selector: arbSelector,
      revisions: fc.record({ start: arbRevision, end: arbRevision }),
      effectiveTime: fc.record({ start: bound, end: bound }),
      direction: fc.constantFrom('forward' as const, 'reverse' as const),
      limit: fc.oneof(fc.nat(5), fc.nat(300)),
    },
    { requiredKeys: ['selector', 'revisions', 'direction'] },
  ),
});

/** Applies the steps to the database, and finally flushes everything. */
export async function grow(database: KnownDatabase, { steps }: History): Promise<void> {
  let nowMs = database.events.at(-1)?.stored.recordedTimeMs ?? CREATED_AT_MS;
  for (const { times, events, passedMs, flush } of steps) {
    for (let time = 0; time < times; time++) {
      nowMs += passedMs;
      database.apply(events, nowMs);
    }
    if (flush) await database.flush();
  }
  await database.flush();
}
