/** The right answer to each read, computed with filters over all events. */
import {
  instantOf,
  isDatabaseName,
  isName,
  isPrefix,
  isUuid,
  isWellFormedSelector,
  matches,
  streamOf,
  timeOf,
} from './rules.ts';
import { type Database, eventsUpTo, lastOf, pageSize, Refusal, revisionOf, type Store, scopeOf } from './store.ts';
import type { Answer, Listing, Position, Query, ReadEvent, RequestOf } from './vocabulary.ts';

function isPage(limit: number | undefined): boolean {
  return limit === undefined || (limit >= 1 && limit <= 1000);
}

export function answerQuery(
  store: Store,
  { database: name, query, via }: RequestOf<'query' | 'next'> & { readonly query: Query },
): Answer {
  const isHttp = /^(?:GET|POST) /.test(via);
  requireWellFormed(query, isHttp);
  const database = store.find(name);
  const at = revisionOf(database, query.at);
  const selected = selectEvents(database, query, at);
  if (via === 'GET one' && selected.length === 0 && query.after === undefined)
    throw new Refusal(absentReason(query), scopeOf(database, at));
  const limit = isHttp ? pageSize(store, query.limit) : (query.limit ?? Number.POSITIVE_INFINITY);
  const page = { ...scopeOf(database, at), events: selected.slice(0, limit || undefined) };
  const end = query.effective?.end;
  return isHttp
    ? {
        ...page,
        hasMore: selected.length > limit,
        ...(end === undefined ? {} : { members: { cut: timeOf(instantOf(end) ?? 0n) } }),
      }
    : page;
}

function requireWellFormed({ selectors, start, end, effective, limit }: Query, isHttp: boolean): void {
  const from = instantOf(effective?.start ?? '0001-01-01T00:00:00Z');
  const to = instantOf(effective?.end ?? '9999-12-31T23:59:59.999999999Z');
  const isInOrder = from !== undefined && to !== undefined && from <= to;
  const isRange = start === undefined || end === undefined || start <= end;
  if (!isInOrder || !isRange || (isHttp && !isPage(limit)) || !selectors.every(isWellFormedSelector))
    throw new Refusal('invalid_argument');
}

/** The intersection of all bounds, in the order of the query. */
function selectEvents(database: Database, query: Query, at: number): readonly ReadEvent[] {
  const { selectors, start, end, effective, isReverse, after } = query;
  const sign = isReverse ? -1 : 1;
  const keyOf = (event: ReadEvent): bigint => (effective === undefined ? 0n : effectiveTime(event));
  const compare = (left: readonly [bigint, Position], right: readonly [bigint, Position]): number =>
    sign *
    (Number(left[0] - right[0]) || Number(left[1].revision - right[1].revision) || left[1].index - right[1].index);
  const all = eventsUpTo(database, at);
  // Without an event at the position there is no effective time to continue from, so it only limits positions.
  const anchor = all.find((event) => event.revision === Number(after?.revision) && event.index === after?.index);
  const behind = after === undefined ? undefined : ([anchor === undefined ? 0n : keyOf(anchor), after] as const);
  const placed = all.map((event) => ({
    event,
    place: [keyOf(event), { ...event, revision: BigInt(event.revision) }] as const,
  }));
  return placed
    .filter(({ event, place }) => {
      const revision = BigInt(event.revision);
      if ((start !== undefined && revision < start) || (end !== undefined && revision > end)) return false;
      const key = anchor === undefined ? 0n : place[0];
      if (behind !== undefined && compare([key, place[1]], behind) <= 0) return false;
      const time = effectiveTime(event);
      if (effective?.start !== undefined && time < (instantOf(effective.start) ?? 0n)) return false;
      if (effective?.end !== undefined && time > (instantOf(effective.end) ?? 0n)) return false;
      return selectors.length === 0 || selectors.some((selector) => matches(selector, event));
    })
    .toSorted((left, right) => compare(left.place, right.place))
    .map(({ event }) => event);
}

/** An event without `time` uses its recorded time. */
function effectiveTime({ time, recorded }: ReadEvent): bigint {
  return time === undefined ? BigInt(recorded) : (instantOf(time) ?? 0n);
}

const ABSENT: Readonly<Record<string, string>> = {
  stream: 'StreamNotFound',
  subject: 'SubjectNotFound',
  type: 'EventTypeNotFound',
};

function absentReason({ selectors: [selector] }: Query): string {
  return ABSENT[selector?.kind ?? ''] ?? '';
}

export function answerScan(store: Store, { database: name, via, start, isReverse, limit }: RequestOf<'scan'>): Answer {
  const isHttp = via === 'GET log';
  if (isHttp && !isPage(limit)) throw new Refusal('invalid_argument');
  const database = store.find(name);
  const last = lastOf(database);
  // Over HTTP the revision is the one before the start, over gRPC the first one, and 0 means no bound.
  const isIn = (revision: bigint): boolean => {
    if (start === undefined || (!isHttp && start === 0n)) return true;
    if (isHttp) return isReverse ? revision < start : revision > start;
    return isReverse ? revision <= start : revision >= start;
  };
  const events = selectEvents(database, { selectors: [], isReverse }, last).filter(({ revision }) =>
    isIn(BigInt(revision)),
  );
  if (isHttp) {
    const size = pageSize(store, limit);
    return { ...scopeOf(database), events: events.slice(0, size), hasMore: events.length > size };
  }
  if (via === 'ScanDatabaseLog') return { ...scopeOf(database), events: events.slice(0, limit || undefined) };
  // Whole transactions, each with its events in their own order.
  const revisions = [...new Set(events.map(({ revision }) => revision))].slice(0, limit || undefined);
  return {
    ...scopeOf(database),
    events: revisions.flatMap((revision) =>
      eventsUpTo(database, revision).filter((event) => event.revision === revision),
    ),
  };
}

export function answerSubscribe(store: Store, { database: name, query }: RequestOf<'subscribe'>): Answer {
  if (!query.selectors.every(isWellFormedSelector)) throw new Refusal('invalid_argument');
  const database = store.find(name);
  if ((query.after?.revision ?? 0n) > BigInt(lastOf(database)))
    throw new Refusal('RevisionNotFound', scopeOf(database));
  return { ...scopeOf(database), events: selectEvents(database, query, lastOf(database)) };
}

export function answerDatabase(store: Store, { database: name, at, time }: RequestOf<'database'>): Answer {
  const database = store.find(name);
  const recorded = [database.created ?? '', ...database.transactions.map((each) => each.recorded ?? '')];
  const asOf = time === undefined ? at : BigInt(recorded.findLastIndex((each) => BigInt(each) <= time));
  if (asOf === -1n) throw new Refusal('RevisionNotFound', scopeOf(database));
  const revision = revisionOf(database, asOf);
  return describe(database, revision);
}

export function describe(database: Database, revision: number): Answer {
  const { transactions, name, created = '' } = database;
  const members = {
    name,
    revision,
    basis: Math.max(revision - 1, 0),
    created,
    timestamp: transactions[revision - 1]?.recorded ?? created,
    events: eventsUpTo(database, revision).length,
    // The hash of revision 0 follows from the id.
    ...(revision === 0 ? {} : { hash: transactions[revision - 1]?.hash ?? '' }),
  };
  return { ...scopeOf(database, revision), members };
}

export function answerEvent(store: Store, { database: name, at, position, stream, id }: RequestOf<'event'>): Answer {
  if (stream !== undefined && id !== undefined && !(isName(stream) && isName(id)))
    throw new Refusal('invalid_argument');
  const database = store.find(name);
  const revision = revisionOf(database, at);
  const events = eventsUpTo(database, revision);
  if (position !== undefined && position.revision > BigInt(revision)) {
    throw new Refusal('RevisionNotFound', scopeOf(database, revision));
  }
  const event = events.find((each) =>
    position === undefined
      ? each.id === id && streamOf(each.source) === stream
      : BigInt(each.revision) === position.revision && each.index === position.index,
  );
  if (event === undefined) throw new Refusal('EventNotFound', scopeOf(database, revision));
  const isLast =
    position === undefined || !events.some((each) => each.revision === event.revision && each.index > event.index);
  return { ...scopeOf(database, revision), events: [event], hasMore: !isLast };
}

const NAME_OF: Readonly<Record<Listing, (event: ReadEvent) => string | undefined>> = {
  streams: ({ source }) => streamOf(source),
  subjects: ({ subject }) => subject,
  'event-types': ({ type }) => type,
};

export function answerNames(
  store: Store,
  { database: name, listing, at, prefix = '', after = '', limit }: RequestOf<'names'>,
): Answer {
  if (!isPrefix(prefix) || !isPrefix(after) || !isPage(limit)) throw new Refusal('invalid_argument');
  const database = store.find(name);
  const revision = revisionOf(database, at);
  const first = new Map<string, number>();
  for (const event of eventsUpTo(database, revision)) {
    const named = NAME_OF[listing](event);
    if (named !== undefined && !first.has(named)) first.set(named, event.revision);
  }
  const listed = [...first]
    .filter(([each]) => each.startsWith(prefix) && Buffer.compare(Buffer.from(each), Buffer.from(after)) > 0)
    .toSorted(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  const size = pageSize(store, limit);
  const names = listed.slice(0, size).map(([each, from]) => `${each} since ${from}`);
  return { ...scopeOf(database, revision), names, hasMore: listed.length > size };
}

export function answerLookup(store: Store, { database: name, id }: RequestOf<'lookup'>): Answer {
  if (!isUuid(id)) throw new Refusal('invalid_argument');
  const database = store.find(name);
  const place = database.transactions.findIndex((each) => each.id === id.toLowerCase());
  const found = database.transactions[place];
  if (found === undefined) throw new Refusal('TransactionNotFound', scopeOf(database));
  const { recorded = '', hash = '', origin, events } = found;
  const revision = place + 1;
  return {
    ...scopeOf(database, revision),
    members: { id: found.id, basis: place, recorded, hash, origin },
    mappings: events.map(({ id: sent = '', storedId }) => `${sent} > ${storedId}`),
    events: eventsUpTo(database, revision).filter((event) => event.revision === revision),
  };
}

export function answerCatalog(store: Store): Answer {
  return { names: [...store.databases.keys()].filter(isDatabaseName).toSorted() };
}
