/**
 * Changes of a database since an earlier revision: counts of revisions and events, and their streams, subjects and
 * event types. Reads the events themselves, up to the bounds of a page.
 */

import { type AskedRevision, assert, decodeUtf8 } from '#base';
import { ALL, eventFacts } from '#model';
import type { StoredEvent } from '#service';
import { changesPage } from '#ui';
import { databaseMetadata } from './database-json.ts';
import { invalidField } from './errors.ts';
import type { Json, JsonMembers } from './json-text.ts';
import { CHANGED_EVENTS_MAX, PAGE_BYTES_MAX } from './limits.ts';
import { type HttpReply, scopeHeaders } from './reply.ts';
import { objectBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';
import { show } from './show.ts';

export const SINCE = 'since';

export async function changesSince(
  request: HttpRequest,
  context: RouteContext,
  { at, since }: { readonly at: AskedRevision; readonly since: AskedRevision },
): Promise<HttpReply> {
  const { service } = context;
  const database = await service.databaseAt({ ...request.read(), at });
  if (typeof since !== 'number' || since > database.revision) {
    throw invalidField(SINCE, `must not be after the revision, which is ${database.revision}`, String(since));
  }
  const before = await service.databaseAt({ ...request.read(), at: since });
  const counts = await counted(request, context, { at, since });
  const eventCount = database.eventCount - before.eventCount;
  const { countedEvents } = counts;
  return show(request, {
    body: objectBody({
      since,
      new_revisions: database.revision - since,
      new_events: eventCount,
      counted_events: countedEvents,
      ...counts.members(request.listSizes().itemsDefault),
      ...databaseMetadata(database),
    }),
    headers: scopeHeaders(database),
    describe: () => changesPage({ since, database, eventCount, countedEvents }),
  });
}

async function counted(
  request: HttpRequest,
  { service }: RouteContext,
  { at, since }: { readonly at: AskedRevision; readonly since: number },
): Promise<Counts> {
  const counts = new Counts();
  const revisions = { start: since + 1 };
  const query = { selector: ALL, revisions, direction: 'forward', limit: CHANGED_EVENTS_MAX } as const;
  const { chunks } = await service.queryEvents({ ...request.read(), at, query });
  for await (const chunk of chunks) {
    await request.inTurn(() => chunk.forEach((event) => counts.add(event)));
    if (counts.isFull) break;
  }
  return counts;
}

class Counts {
  readonly #streams = new Map<string, number>();
  readonly #subjects = new Map<string, number>();
  readonly #types = new Map<string, number>();
  #byteCount = 0;
  countedEvents = 0;

  get isFull(): boolean {
    return this.#byteCount > PAGE_BYTES_MAX || this.countedEvents >= CHANGED_EVENTS_MAX;
  }

  add({ bytes }: StoredEvent): void {
    if (this.isFull) return;
    const facts = eventFacts(bytes, 0, bytes.length);
    count(this.#streams, textIn(bytes, facts.streamStart, facts.streamEnd));
    count(this.#types, textIn(bytes, facts.typeStart, facts.typeEnd));
    if (facts.subjectStart !== -1) count(this.#subjects, textIn(bytes, facts.subjectStart, facts.subjectEnd));
    this.#byteCount += bytes.length;
    this.countedEvents++;
  }

  /** The number of names, and the names with the most events. */
  members(namesMax: number): JsonMembers {
    const named = [
      ['stream', this.#streams],
      ['subject', this.#subjects],
      ['event_type', this.#types],
    ] as const;
    const members = named.flatMap(([noun, counts]) => [
      [`${noun}_count`, counts.size] as const,
      [`${noun}s`, namesIn(counts, namesMax)] as const,
    ]);
    return Object.fromEntries(members);
  }
}

function textIn(bytes: Uint8Array, start: number, end: number): string {
  const text = decodeUtf8(bytes, start, end);
  assert(text !== undefined, 'A stored name is UTF-8', bytes);
  return text;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function namesIn(counts: ReadonlyMap<string, number>, namesMax: number): Json {
  const first = [...counts]
    .toSorted(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
    .slice(0, namesMax);
  return first.map(([name, events]) => ({ name, events }));
}
