/** Pages of events in listings: reads one more than requested, or as many as fit, to know whether there are more. */
import { DatabaseError, type DatabaseId, type ErrorScope, quote } from '#base';
import { type Direction, type EventQuery, eventToJson } from '#model';
import type { QueryEventsRequest, ReadScope, Service, StoredEvent } from '#service';
import { invalidField } from './errors.ts';
import { JsonElements } from './json-elements.ts';
import { type JsonText, RawJson } from './json-text.ts';
import { ITEM_ANSWER_BYTES, JSON_SIZES, type ListSizes, PAGE_ANSWER_BYTES, PIECE_BYTES } from './limits.ts';
import type { QueryParameters } from './query-string.ts';
import type { HttpRequest } from './request.ts';

/** A query that ends with its page. */
export interface PageQuery extends EventQuery {
  readonly limit: number;
}

export interface PageRequest extends Pick<QueryEventsRequest, 'at'> {
  readonly query: PageQuery;
  /** Database instance of the previous page, if there is one. */
  readonly databaseId?: DatabaseId | undefined;
}

export interface EventPage {
  readonly scope: ReadScope;
  readonly events: JsonElements;
  readonly first: StoredEvent | undefined;
  /** Last event of the page, if there are more after it. */
  readonly more: StoredEvent | undefined;
}

/** Reads a page and writes it in pieces (TH11), when there is room for it. */
export function readPage(service: Service, request: HttpRequest, wanted: PageRequest): Promise<EventPage> {
  const bytes = Math.min(PAGE_ANSWER_BYTES, wanted.query.limit * ITEM_ANSWER_BYTES);
  return request.inRoom(bytes, (bytesMax) => readPageUpTo(bytesMax, service, request, wanted));
}

/** Undefined when the events have more bytes. */
async function readPageUpTo(
  bytesMax: number,
  service: Service,
  request: HttpRequest,
  { databaseId, ...wanted }: PageRequest,
): Promise<EventPage | undefined> {
  const { limit } = wanted.query;
  const asked = { ...request.read(), ...wanted, query: { ...wanted.query, limit: limit + 1 } };
  const { chunks, ...scope } = await service.queryEvents(asked).catch((failure: unknown) => {
    // A re-created database may lack the revision, but that is not the fault to report.
    if (failure instanceof DatabaseError) assertOfWalk(databaseId, asked.databaseName, failure.details.scope);
    throw failure;
  });
  assertOfWalk(databaseId, scope.databaseName, scope);
  const page = new Page(limit, request.listSizes().bytesMax);
  // Other renderings read the events one by one.
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

/** Collects events up to the limit of events or of bytes, but at least one. */
class Page {
  first: StoredEvent | undefined;
  last: StoredEvent | undefined;
  readonly #limit: number;
  readonly #bytesMax: number;
  #eventCount = 0;
  #byteCount = 0;
  /** Bytes of its events as stored. */
  takenBytes = 0;
  /** True when an event did not fit. */
  isFull = false;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** The events that fit. */
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

/** Parameters of every list of events without a query. */
export const PAGE_PARAMETERS = ['limit', 'direction', 'after'] as const;

export function pageDirection(query: QueryParameters): Direction {
  const text = query.get('direction') ?? 'forward';
  const direction = text.toLowerCase();
  if (direction === 'forward' || direction === 'reverse') return direction;
  throw invalidField('direction', 'must be forward or reverse', text);
}

/** The `limit` parameter, at most that of the rendering. */
export function pageLimit(request: HttpRequest): number {
  const limit = request.query().integer('limit', { min: 1, max: JSON_SIZES.itemsMax });
  return boundedLimit(request, limit);
}

/** The query with its limit, at most that of the rendering, or the default limit. */
export function boundedQuery(request: HttpRequest, query: EventQuery): PageQuery {
  return { ...query, limit: boundedLimit(request, query.limit) };
}

function boundedLimit(request: HttpRequest, limit: number | undefined): number {
  const { itemsDefault, itemsMax } = request.listSizes();
  return Math.min(limit ?? itemsDefault, itemsMax);
}

/** The events of a page without a limit. */
export function firstOf(events: readonly StoredEvent[], { itemsDefault, bytesMax }: ListSizes): readonly StoredEvent[] {
  return new Page(itemsDefault, bytesMax).takeAll(events);
}

export function eventJson(event: StoredEvent): JsonText {
  const { position, recordedTimeMs, storedId } = event;
  return eventToJson(event.bytes, { ...position, recordedTimeMs, storedId });
}

export function eventsJson(events: readonly StoredEvent[]): RawJson {
  return new RawJson(`[${events.map(eventJson).join(',')}]`);
}

/** Throws when the next page would come from another database instance (TH8). */
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
