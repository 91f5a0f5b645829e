// Compares the rows of a database with the oracle at one revision: every reader must agree with a loop over the events.
import { expect } from 'vitest';
import { decodeUtf8, encodeUtf8, type Instant } from '#base';
import {
  auditDatabase,
  type DatabaseReader,
  databaseAt,
  END_RANK,
  eventsOf,
  findEvent,
  HEAD_KIND,
  type HeadKind,
  type HeadName,
  lastRevision,
  listHits,
  NO_SUBJECT_HEAD,
  type PostingEntry,
  rankRange,
  settled,
  walkHeads,
} from '#database';
import { ALL, comparePositions, type Event, type Position, readEvent } from '#model';
import { effectiveTimeOf, queryEvents } from '#query';
import { CREATED_AT_MS } from './database-host.ts';
import type { DatabaseOracle, OracleStored } from './database-oracle.ts';

const TERMS: readonly (readonly [HeadKind, (event: OracleStored) => string | undefined])[] = [
  [HEAD_KIND.STREAM, (event) => event.stream],
  [HEAD_KIND.TYPE, (event) => event.type],
  [HEAD_KIND.SOURCE, (event) => event.source],
  [HEAD_KIND.SUBJECT, (event) => event.subject],
];

export async function expectRowsToMatch(reader: DatabaseReader, oracle: DatabaseOracle, at: number): Promise<void> {
  // A database has no rows before its first flush.
  if (reader.applied() !== undefined) expect(await auditDatabase(reader.source)).toBeUndefined();
  const events = oracle.events(at);
  for (const [kind, termOf] of TERMS) {
    const terms = [...new Set(events.map(termOf))].filter((text) => text !== undefined);
    expect(await listHeads(reader, kind, at)).toEqual(terms.toSorted(byBytes));
    for (const text of terms) {
      const wanted = events.filter((event) => termOf(event) === text);
      await expectPostings(reader, { kind, term: encodeUtf8(text) }, { at, wanted });
    }
  }
  await expectPostings(reader, NO_SUBJECT_HEAD, { at, wanted: events.filter((event) => event.subject === undefined) });
  await expectTimes(reader, events, at);
  expectTransactions(reader, oracle, at);
  await expectFacts(reader, oracle, at);
}

async function listHeads(reader: DatabaseReader, kind: HeadKind, at: number): Promise<readonly (string | undefined)[]> {
  const terms: (string | undefined)[] = [];
  for await (const heads of walkHeads(reader, { kind, prefix: new Uint8Array(0) })) {
    terms.push(
      ...heads
        .filter(({ firstRevision }) => firstRevision <= at)
        .map((head) => decodeUtf8(head.name.term ?? new Uint8Array(0))),
    );
  }
  return terms;
}

interface WantedPostings {
  readonly at: number;
  readonly wanted: readonly OracleStored[];
}

/** Reads the list in both directions, and looks up the event of every entry. */
async function expectPostings(reader: DatabaseReader, name: HeadName, { at, wanted }: WantedPostings): Promise<void> {
  const forward = await walkPostings(reader, name, { at, direction: 'forward' });
  expect(forward.map(summary)).toEqual(wanted.map((event) => [event.revision, event.index, event.effective]));
  const reverse = await walkPostings(reader, name, { at, direction: 'reverse' });
  expect(reverse).toEqual(forward.toReversed());
  for (const entry of forward) {
    const event = reader.eventIn(entry);
    const expected = wanted.find((candidate) => comparePositions(candidate, entry) === 0);
    expect(decoded(event.bytes)).toMatchObject({
      id: expected?.id,
      type: expected?.type,
      source: expected?.source,
    });
    expect(event.storedId ?? expected?.id).toBe(expected?.storedId);
  }
}

function summary({ revision, index, seconds, nanos }: Position & Instant): unknown {
  return [revision, index, { seconds, nanos }];
}

/** All entries of a list, in the direction of the walk. */
export async function walkPostings(
  reader: DatabaseReader,
  name: HeadName,
  { at, direction }: { readonly at: number; readonly direction: 'forward' | 'reverse' },
): Promise<readonly PostingEntry[]> {
  const head = reader.head(name);
  const entries: PostingEntry[] = [];
  if (head === undefined) return entries;
  const hits = listHits(reader, head, rankRange(1, at, direction));
  for (; (await settled(hits)) !== END_RANK; hits.seek(hits.rank + 1)) entries.push(hits.entry());
  await hits.release();
  return entries;
}

function decoded(bytes: Uint8Array): Event {
  return readEvent(bytes, 0, bytes.length);
}

function positionOf({ revision, index }: Position): Position {
  return { revision, index };
}

async function expectTimes(reader: DatabaseReader, events: readonly OracleStored[], at: number): Promise<void> {
  const sorted = events.toSorted(
    (a, b) =>
      a.effective.seconds - b.effective.seconds || a.effective.nanos - b.effective.nanos || comparePositions(a, b),
  );
  const middle = sorted[sorted.length >> 1]?.effective.seconds ?? 0;
  const bounds = [
    [-62_135_596_800, 253_402_300_800],
    [middle, middle + 1],
    [0, middle],
  ] as const;
  for (const [fromSecond, toSecond] of bounds) {
    const inside = sorted.filter(({ effective }) => effective.seconds >= fromSecond && effective.seconds < toSecond);
    const expected = inside.map((event) => [event.revision, event.index, event.effective]);
    for (const direction of ['forward', 'reverse'] as const) {
      const found: unknown[] = [];
      const times = { start: { seconds: fromSecond, nanos: 0 }, end: { seconds: toSecond - 1, nanos: 999_999_999 } };
      const query = { selector: ALL, revisions: {}, effectiveTime: times, direction };
      for await (const slice of queryEvents(reader.source, { at, query }))
        found.push(...slice.map((event) => summary({ ...event.position, ...effectiveTimeOf(event) })));
      expect(found).toEqual(direction === 'forward' ? expected : expected.toReversed());
    }
  }
}

function expectTransactions(reader: DatabaseReader, oracle: DatabaseOracle, at: number): void {
  for (let revision = 1; revision <= at; revision++) {
    const transaction = reader.transaction(revision);
    const expected = oracle.transactions[revision - 1];
    expect([transaction.revision, transaction.recordedTimeMs]).toEqual([revision, expected?.recordedTimeMs]);
    const ids = eventsOf(transaction).map((event) => event.storedId ?? decoded(event.bytes).id);
    expect(ids).toEqual(expected?.events.map((event) => event.storedId));
  }
}

async function expectFacts(reader: DatabaseReader, oracle: DatabaseOracle, at: number): Promise<void> {
  const applied = reader.applied();
  if (applied === undefined) return;
  const recordedTimeMs = oracle.transactions[at - 1]?.recordedTimeMs ?? CREATED_AT_MS;
  expect(await databaseAt(reader, applied, at)).toMatchObject({
    revision: at,
    recordedTimeMs,
    totalEvents: oracle.events(at).length,
  });
  for (const timeMs of [recordedTimeMs - 1, recordedTimeMs, recordedTimeMs + 350]) {
    const expected = oracle.transactions.slice(0, at).filter((transaction) => transaction.recordedTimeMs <= timeMs);
    const found = await lastRevision(reader, { low: 0, high: at }, (head) => head.recordedTimeMs <= timeMs);
    expect(found).toBe(expected.at(-1)?.revision ?? 0);
  }
  const last = oracle.transactions[at - 1];
  if (last === undefined) return;
  const transactionId = Uint8Array.from(last.transactionId.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  expect(reader.transactionRevision(transactionId)).toBe(at);
  expect(reader.transactionRevision(new Uint8Array(16).fill(0xee))).toBeUndefined();
  expect(eventsOf(reader.transaction(at))).toHaveLength(last.events.length);
  await expectEventsOf(reader, last.events, at);
}

async function expectEventsOf(reader: DatabaseReader, events: readonly OracleStored[], at: number): Promise<void> {
  for (const event of events) {
    const position = positionOf(event);
    expect(eventsOf(reader.transaction(position.revision))[position.index]).toMatchObject({ position });
    expect(await findEvent(reader, { stream: event.stream, id: event.storedId, at })).toMatchObject({ position });
    expect(await findEvent(reader, { stream: event.stream, id: event.storedId, at: at - 1 })).toBeUndefined();
    expect(await findEvent(reader, { stream: event.stream, id: `${event.storedId}~`, at })).toBeUndefined();
  }
}

function byBytes(left: string, right: string): number {
  const [a, b] = [encodeUtf8(left), encodeUtf8(right)];
  const at = a.findIndex((byte, place) => byte !== b[place]);
  return at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}
