/** Random reads. The state of the model provides values near boundaries. */

import { MALFORMED_REQUESTS } from '../clients/malformed.ts';
import { timeOf } from '../model/rules.ts';
import { type Database, eventsUpTo, lastOf } from '../model/store.ts';
import type { Query, Request, Saved } from '../model/vocabulary.ts';
import type { Random } from './random.ts';
import * as values from './values.ts';

/** The database of a read. */
export interface Subject {
  readonly name: string;
  /** Absent when the database does not exist. */
  readonly database: Database | undefined;
  readonly saved: readonly Saved[];
}

type Draw = (random: Random, subject: Subject) => Request;

/** Each read operation with its weight. */
const READS: readonly (readonly [weight: number, Draw])[] = [
  [22, grpcQuery],
  [22, httpQuery],
  [8, scan],
  [8, next],
  [10, database],
  [9, event],
  [8, names],
  [5, lookup],
  [1, (random) => ({ kind: 'catalog', database: '', via: random.pick(['FetchCatalog', 'GET /', 'GET /databases']) })],
  [0.4, subscribe],
  [6, malformed],
];

const TOTAL = READS.reduce((sum, [weight]) => sum + weight, 0);

export function drawRead(random: Random, subject: Subject): Request {
  let dice = random.below(TOTAL * 10) / 10;
  const found = READS.find(([weight]) => (dice -= weight) < 0);
  return (found ?? [0, grpcQuery])[1](random, subject);
}

function latest({ database: each }: Subject): number {
  return each === undefined ? 0 : lastOf(each);
}

/** The bounds of a query; one in fifty is reversed. */
function bounds(random: Random, subject: Subject): Pick<Query, 'start' | 'end' | 'isReverse'> {
  const last = latest(subject);
  const start = random.maybe(40, () => values.revision(random, last));
  const end = random.maybe(40, () => values.revision(random, last));
  const isReverse = random.chance(50);
  const isSwapped = start !== undefined && end !== undefined && start > end && !random.chance(5);
  return isSwapped ? { start: end, end: start, isReverse } : { start, end, isReverse };
}

function query(random: Random, subject: Subject): Query {
  const last = latest(subject);
  const at = random.maybe(60, () =>
    random.chance(92) ? BigInt(random.below(last + 1)) : values.revision(random, last),
  );
  const effective = random.maybe(25, () => times(random, subject));
  const after = random.maybe(40, () =>
    effective === undefined || random.chance(30) ? values.position(random, last) : eventPosition(random, subject, at),
  );
  return {
    selectors: random.chance(35) ? [] : random.list(1, 2, () => values.selector(random)),
    ...bounds(random, subject),
    effective,
    after,
    limit: random.maybe(50, () => random.pick([0, 1, 2, 3, 7, 1000])),
    at,
  };
}

/** In order of effective time, a reader mostly continues after an existing event. */
function eventPosition(random: Random, { database: each }: Subject, at: bigint | undefined): Query['after'] {
  if (each === undefined) return undefined;
  const last = lastOf(each);
  const events = eventsUpTo(each, at === undefined || at > BigInt(last) ? last : Number(at));
  const picked = events.length === 0 ? undefined : random.pick(events);
  return picked && { revision: BigInt(picked.revision), index: picked.index };
}

function times(random: Random, subject: Subject): Query['effective'] {
  const start = random.maybe(50, () => time(random, subject));
  const end = random.maybe(50, () => time(random, subject));
  // The pool is sorted except for its last values; reversed ranges are refused.
  return { start, end };
}

/** A time of the pool, or one at or next to a recorded time. */
function time(random: Random, { database: each }: Subject): string {
  const recorded = each?.transactions.map((transaction) => transaction.recorded ?? '') ?? [];
  if (recorded.length === 0 || random.chance(60)) return random.pick(values.TIMES);
  return timeOf(BigInt(random.pick(recorded)) + BigInt(random.pick([-1, 0, 0, 1])));
}

function grpcQuery(random: Random, subject: Subject): Request {
  return {
    kind: 'query',
    database: subject.name,
    via: random.pick(['QueryEvents', 'QueryEventBatches']),
    query: query(random, subject),
  };
}

function httpQuery(random: Random, subject: Subject): Request {
  const via = random.pick(['GET events?q', 'POST query', 'GET events', 'GET one'] as const);
  const drawn = query(random, subject);
  const at = drawn.at ?? BigInt(latest(subject));
  // No route accepts 0 as "no limit".
  const limit = drawn.limit === 0 ? undefined : drawn.limit;
  const shared = { kind: 'query', database: subject.name, via } as const;
  if (via === 'POST query') return { ...shared, query: { ...drawn, limit, at: undefined } };
  if (via === 'GET events?q') {
    // A range of effective time in a URL always has an end.
    const effective = drawn.effective && { ...drawn.effective, end: drawn.effective.end ?? random.pick(values.TIMES) };
    return { ...shared, query: { ...drawn, limit, at, effective } };
  }
  const { isReverse, start, end } = drawn;
  if (via === 'GET one') {
    const selectors = [values.equality(random, ['stream', 'subject', 'type'])];
    return { ...shared, query: { selectors, isReverse, limit, at } };
  }
  const parts = (['stream', 'subject', 'type'] as const)
    .filter(() => random.chance(40))
    .map((kind) => values.equality(random, [kind]));
  return {
    ...shared,
    query: { selectors: parts.length === 0 ? [] : [{ kind: 'and', parts }], isReverse, start, end, limit, at },
  };
}

function scan(random: Random, subject: Subject): Request {
  const via = random.pick(['ScanDatabaseLog', 'ScanLogBatches', 'GET log'] as const);
  const start = random.maybe(70, () => values.revision(random, latest(subject)));
  const limit = random.maybe(50, () => random.pick([1, 2, 3, 1000]));
  return { kind: 'scan', database: subject.name, via, start, isReverse: random.chance(50), limit };
}

function next(random: Random, subject: Subject): Request {
  if (subject.saved.length === 0) return httpQuery(random, subject);
  const saved = random.pick(subject.saved);
  return { kind: 'next', database: subject.name, via: saved.body === undefined ? 'GET next' : 'POST next', saved };
}

function database(random: Random, subject: Subject): Request {
  const last = latest(subject);
  const shared = { kind: 'database', database: subject.name } as const;
  const via = random.pick([
    'FetchLatestDatabase',
    'FetchDatabaseAtRevision',
    'FetchDatabaseAtRevision',
    'AwaitDatabase',
    'DatabaseEffectiveAtTimestamp',
    'GET /db/{db}/{revision}',
    'GET /db/{db}/{revision}',
    'GET /db/{db}/latest',
    'GET /db/{db}/cached',
    'GET /databases/{db}',
  ] as const);
  if (via === 'AwaitDatabase') return { ...shared, via, at: BigInt(random.below(last + 1)) };
  if (via === 'DatabaseEffectiveAtTimestamp') return { ...shared, via, time: recordedTime(random, subject) };
  return via.endsWith('AtRevision') || via.endsWith('{revision}')
    ? { ...shared, via, at: values.revision(random, last) }
    : { ...shared, via };
}

/** A time at or next to a recorded time, or in a distant year. */
function recordedTime(random: Random, { database: each }: Subject): bigint {
  const known =
    each === undefined ? ['0'] : [each.created ?? '0', ...each.transactions.map(({ recorded }) => recorded ?? '0')];
  return BigInt(random.pick([...known, ...known, '253402300799000000000'])) + BigInt(random.pick([0, 0, 1]));
}

function event(random: Random, subject: Subject): Request {
  const via = random.pick(['GET event', 'GET log event', 'GET event by id'] as const);
  const last = latest(subject);
  const at = BigInt(random.chance(90) ? random.below(last + 1) : last);
  const shared = { kind: 'event', database: subject.name, via } as const;
  if (via === 'GET event by id') return { ...shared, at, ...values.identity(random) };
  const place = { revision: values.revision(random, last), index: random.pick([0, 0, 1, 2, 999, 65_535]) };
  return via === 'GET event' ? { ...shared, at, position: place } : { ...shared, position: place };
}

function names(random: Random, subject: Subject): Request {
  return {
    kind: 'names',
    database: subject.name,
    via: 'GET names',
    listing: random.pick(['streams', 'subjects', 'event-types']),
    at: random.chance(85) ? BigInt(random.below(latest(subject) + 1)) : values.revision(random, latest(subject)),
    prefix: random.maybe(40, () => values.prefix(random)),
    after: random.maybe(40, () => values.prefix(random)),
    limit: random.maybe(40, () => random.pick([1, 2, 1000])),
  };
}

function lookup(random: Random, subject: Subject): Request {
  const known = subject.database?.transactions.map(({ id }) => id) ?? [];
  const id = known.length > 0 && random.chance(80) ? random.pick(known) : random.uuid();
  const sent = random.chance(10) ? id.toUpperCase() : id;
  return {
    kind: 'lookup',
    database: subject.name,
    via: random.pick(['FetchTransaction', 'GET transaction']),
    id: sent,
  };
}

function subscribe(random: Random, subject: Subject): Request {
  const drawn = query(random, subject);
  return {
    kind: 'subscribe',
    database: subject.name,
    via: 'SubscribeEvents',
    query: { selectors: drawn.selectors, isReverse: false, after: drawn.after },
  };
}

/** Its fault is found before or after the database is looked up. */
function malformed(random: Random, subject: Subject): Request {
  if (subject.database === undefined) return grpcQuery(random, subject);
  return { kind: 'malformed', database: subject.name, via: random.pick(MALFORMED_REQUESTS) };
}
