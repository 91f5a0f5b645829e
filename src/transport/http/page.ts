/**
 * A page of events: read one more than asked, or as many as fit, and say whether there is more.
 */
import { DatabaseError, type DatabaseId } from '#base';
import { type EventQuery, eventToJson } from '#model';
import type { QueryEventsRequest, ReadScope, Service, StoredEvent } from '#service';
import { invalidField } from './errors.ts';
import { type JsonText, jsonArray } from './json-text.ts';
import { ITEM_ANSWER_BYTES, PAGE_ANSWER_BYTES, PAGE_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './limits.ts';
import type { QueryParameters } from './query-string.ts';
import type { HttpRequest } from './request.ts';

/** A query that ends with its page. */
export interface PageQuery extends EventQuery {
  readonly limit: number;
}

export interface PageRequest extends Pick<QueryEventsRequest, 'at'> {
  readonly query: PageQuery;
  /** The instance that the page before was read from, when there is one. */
  readonly databaseId?: DatabaseId | undefined;
}

export interface EventPage {
  readonly scope: ReadScope;
  readonly events: readonly StoredEvent[];
  /** The last event of the page, when there are more behind it. */
  readonly more: StoredEvent | undefined;
}

/** Waits until there is room for as large a page as the query can have, and reads it. */
export async function readPage(
  service: Service,
  request: HttpRequest,
  { databaseId, ...wanted }: PageRequest,
): Promise<EventPage> {
  const { limit } = wanted.query;
  await request.awaitRoom(Math.min(PAGE_ANSWER_BYTES, limit * ITEM_ANSWER_BYTES));
  const { chunks, ...scope } = await service.queryEvents({
    ...request.read(),
    ...wanted,
    query: { ...wanted.query, limit: limit + 1 },
  });
  if (databaseId !== undefined && databaseId !== scope.databaseId) throw staleCursor(scope);
  const page = new Page(limit);
  for await (const chunk of chunks) if (!page.takeAll(chunk)) break;
  return { scope, events: page.events, more: page.isFull ? page.events.at(-1) : undefined };
}

/** Fills up to the limit of events or, with one event at least, the limit of bytes. */
class Page {
  readonly events: StoredEvent[] = [];
  readonly #limit: number;
  #byteCount = 0;
  /** Whether an event was left out. */
  isFull = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False once an event was left out. */
  takeAll(chunk: readonly StoredEvent[]): boolean {
    for (const event of chunk) if (!this.#take(event)) return false;
    return true;
  }

  #take(event: StoredEvent): boolean {
    this.#byteCount += event.bytes.length;
    this.isFull = this.events.length === this.#limit || (this.#byteCount > PAGE_BYTES_MAX && this.events.length > 0);
    if (!this.isFull) this.events.push(event);
    return !this.isFull;
  }
}

/** The `limit` parameter. */
export function pageLimit(query: QueryParameters): number {
  return query.integer('limit', { min: 1, max: PAGE_SIZE_MAX }) ?? PAGE_SIZE_DEFAULT;
}

/** A limit that a query names, under its path in the request. */
export function boundedQuery(query: EventQuery, field: string): PageQuery {
  const { limit = PAGE_SIZE_DEFAULT } = query;
  if (limit <= PAGE_SIZE_MAX) return { ...query, limit };
  throw invalidField(field, `must be an integer from 1 to ${PAGE_SIZE_MAX}`, String(limit));
}

export function eventJson(event: StoredEvent): JsonText {
  const { position, recordedTimeMs, storedId } = event;
  return eventToJson(event.bytes, { ...position, recordedTimeMs, storedId });
}

export function eventsJson(events: readonly StoredEvent[]): JsonText {
  return jsonArray(events.map(eventJson));
}

function staleCursor({ databaseName }: ReadScope): DatabaseError {
  const message = `The cursor belongs to an earlier database ${JSON.stringify(databaseName)}; begin again without it.`;
  return new DatabaseError('not_found', message, { details: { reason: 'DatabaseNotFound' } });
}
