/**
 * A page of events: read one more than asked, or as many as fit, and say whether there is more.
 */
import { assert, DatabaseError, type DatabaseId, type ErrorScope, quote } from '#base';
import { type Direction, type EventQuery, eventToJson } from '#model';
import type { QueryEventsRequest, ReadScope, Service, StoredEvent } from '#service';
import { invalidField } from './errors.ts';
import { JsonElements } from './json-elements.ts';
import { type JsonText, jsonArray } from './json-text.ts';
import { ITEM_ANSWER_BYTES, PAGE_ANSWER_BYTES, PAGE_SIZE_MAX, PIECE_BYTES, SMALL_ANSWER_BYTES } from './limits.ts';
import type { QueryParameters } from './query-string.ts';
import type { ListSizes } from './rendering/renderings.ts';
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
  readonly events: JsonElements;
  readonly first: StoredEvent | undefined;
  /** The last event of the page, when there are more behind it. */
  readonly more: StoredEvent | undefined;
}

/**
 * Waits until there is room for as large a page as the query can have, or for a small one, reads it and writes it,
 * piece by piece (TH11). A page that turns out to be too large for the room that came first is let go of and read anew.
 */
export async function readPage(service: Service, request: HttpRequest, wanted: PageRequest): Promise<EventPage> {
  const bytes = Math.min(PAGE_ANSWER_BYTES, wanted.query.limit * ITEM_ANSWER_BYTES);
  if ((await request.awaitSomeRoom(bytes)) === 'small') {
    const page = await readPageUpTo(SMALL_ANSWER_BYTES, service, request, wanted);
    if (page !== undefined) return page;
    await request.awaitRoom(bytes);
  }
  const page = await readPageUpTo(Number.POSITIVE_INFINITY, service, request, wanted);
  assert(page !== undefined, 'A page without a bound is within it');
  return page;
}

/** Undefined when the events are more bytes. */
async function readPageUpTo(
  bytesMax: number,
  service: Service,
  request: HttpRequest,
  { databaseId, ...wanted }: PageRequest,
): Promise<EventPage | undefined> {
  const { limit } = wanted.query;
  const asked = { ...request.read(), ...wanted, query: { ...wanted.query, limit: limit + 1 } };
  const { chunks, ...scope } = await service.queryEvents(asked).catch((failure: unknown) => {
    // Another instance may lack the revision; that is not what is wrong.
    if (failure instanceof DatabaseError) assertOfWalk(databaseId, asked.databaseName, failure.details.scope);
    throw failure;
  });
  assertOfWalk(databaseId, scope.databaseName, scope);
  const page = new Page(limit, request.listSizes().bytesMax);
  // Other renderings take the events one by one.
  const events = new JsonElements(request.rendering() === undefined ? PIECE_BYTES : Number.POSITIVE_INFINITY);
  for await (const chunk of chunks) {
    const taken = page.takeAll(chunk);
    if (page.takenBytes > bytesMax) return undefined;
    for (const piece of piecesOf(taken)) await request.inTurn(() => events.add(piece.map(eventJson)));
    if (events.length > bytesMax) return undefined;
    if (page.isFull) break;
  }
  return { scope, events, first: page.first, more: page.isFull ? page.last : undefined };
}

/** Each has one event at least. */
function* piecesOf(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let start = 0;
  let byteCount = 0;
  for (const [place, event] of events.entries()) {
    byteCount += event.bytes.length;
    if (byteCount <= PIECE_BYTES || place === start) continue;
    yield events.slice(start, place);
    start = place;
    byteCount = event.bytes.length;
  }
  if (start < events.length) yield events.slice(start);
}

/** Fills up to the limit of events or, with one event at least, the limit of bytes. */
class Page {
  first: StoredEvent | undefined;
  /** The last event that was taken. */
  last: StoredEvent | undefined;
  readonly #limit: number;
  readonly #bytesMax: number;
  #eventCount = 0;
  #byteCount = 0;
  /** Of its events as they are stored. */
  takenBytes = 0;
  /** Whether an event was left out. */
  isFull = false;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** The events that there is room for. */
  takeAll(chunk: readonly StoredEvent[]): readonly StoredEvent[] {
    const end = chunk.findIndex((event) => !this.#take(event));
    return end < 0 ? chunk : chunk.slice(0, end);
  }

  #take(event: StoredEvent): boolean {
    this.#byteCount += event.bytes.length;
    this.isFull = this.#eventCount === this.#limit || (this.#byteCount > this.#bytesMax && this.#eventCount > 0);
    if (this.isFull) return false;
    this.#eventCount++;
    this.takenBytes += event.bytes.length;
    this.first ??= event;
    this.last = event;
    return true;
  }
}

/** The parameters of every list of events that is not given a query. */
export const PAGE_PARAMETERS = ['limit', 'direction', 'after'] as const;

/** The `direction` parameter. */
export function pageDirection(query: QueryParameters): Direction {
  const text = query.get('direction') ?? 'forward';
  const direction = text.toLowerCase();
  if (direction === 'forward' || direction === 'reverse') return direction;
  throw invalidField('direction', 'must be forward or reverse', text);
}

/** The `limit` parameter, as far as the rendering goes. */
export function pageLimit(request: HttpRequest): number {
  const limit = request.query().integer('limit', { min: 1, max: PAGE_SIZE_MAX });
  return boundedLimit(request, limit);
}

/** The query with the limit that it names, as far as the rendering goes, or that of a page. */
export function boundedQuery(request: HttpRequest, query: EventQuery): PageQuery {
  return { ...query, limit: boundedLimit(request, query.limit) };
}

function boundedLimit(request: HttpRequest, limit: number | undefined): number {
  const { itemsDefault, itemsMax } = request.listSizes();
  return Math.min(limit ?? itemsDefault, itemsMax);
}

/** As many of the events as a page has that nobody set a limit for. */
export function firstOf(events: readonly StoredEvent[], { itemsDefault, bytesMax }: ListSizes): readonly StoredEvent[] {
  return new Page(itemsDefault, bytesMax).takeAll(events);
}

export function eventJson(event: StoredEvent): JsonText {
  const { position, recordedTimeMs, storedId } = event;
  return eventToJson(event.bytes, { ...position, recordedTimeMs, storedId });
}

export function eventsJson(events: readonly StoredEvent[]): JsonText {
  return jsonArray(events.map(eventJson));
}

/** Throws when a walk would go on in another instance than the one that it began in (TH8). */
function assertOfWalk(
  began: DatabaseId | undefined,
  databaseName: string,
  scope: Pick<ErrorScope, 'databaseId'> | undefined,
): void {
  if (began === undefined || scope === undefined || began === scope.databaseId) return;
  const name = quote(databaseName);
  const message = `The cursor is not of the database that is now called ${name}; begin again without it.`;
  throw new DatabaseError('not_found', message, { details: { reason: 'DatabaseNotFound' } });
}
