/** Reads one event. */
import { type DatabaseError, quote } from '#base';
import { optionsOfBody, type Position, transactionIdOfBody } from '#model';
import { type DatabaseSource, eventById, eventsOf, transactionAt } from '#query';
import type { ServiceContext } from './context.ts';
import { eventNotFound, revisionNotFound, revisionNotYet } from './errors.ts';
import { type ReadView, scopeOf } from './instance.ts';
import type { SingleEventReply, SingleEventRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { causesOf } from './replies.ts';

type WantedId = Extract<SingleEventRequest['event'], { readonly kind: 'id' }>;

/** Returns one event, by its position or by its stream and stored id, at a revision. */
export async function singleEvent(context: ServiceContext, request: SingleEventRequest): Promise<SingleEventReply> {
  const view = await openView(context, request, request.at);
  return context.reads.read(view.binding, async () => {
    const source = context.reads.source(view.binding);
    const { revision, index } = await find(source, view, request);
    const stored = revision === 0 ? undefined : await transactionAt(source, revision);
    const event = stored && eventsOf(stored)[index];
    if (stored === undefined || event === undefined) throw noneAt(view, { revision, index }, stored?.eventCount ?? 0);
    return {
      ...scopeOf(view),
      event,
      eventCount: stored.eventCount,
      transactionId: transactionIdOfBody(stored.view.body),
      correlationId: optionsOfBody(stored.view.body).correlationId,
      causes: await causesOf(source, stored),
    };
  });
}

/** The position of the wanted event. */
async function find(source: DatabaseSource, view: ReadView, { at, event }: SingleEventRequest): Promise<Position> {
  if (event.kind === 'id') return findById(source, view, event);
  const { revision, index } = event.position;
  if (typeof revision === 'number' && revision <= view.revision) return { revision, index };
  // At a given revision, the existence of later revisions does not matter.
  throw at === 'latest' || at === 'cached'
    ? revisionNotFound(scopeOf(view), revision)
    : revisionNotYet(scopeOf(view), revision);
}

async function findById(source: DatabaseSource, view: ReadView, wanted: WantedId): Promise<Position> {
  const found = await eventById(source, view.revision, wanted);
  if (found !== undefined) return found.position;
  const where = `in the stream ${quote(wanted.stream)} at revision ${view.revision}`;
  throw eventNotFound(scopeOf(view), `${quote(wanted.id)} ${where}`);
}

function noneAt(view: ReadView, { revision, index }: Position, eventCount: number): DatabaseError {
  const indexes = eventCount === 0 ? 'no events' : `the events 0 to ${eventCount - 1}`;
  return eventNotFound(scopeOf(view), `${index} at revision ${revision}, which has ${indexes}`);
}
