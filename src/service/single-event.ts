import { quote } from '#base';
import { optionsOfBody, type Position, transactionIdOfBody } from '#model';
import { eventAt, eventById, type StoredEvent, transactionAt } from '#query';
import type { ServiceContext } from './context.ts';
import { eventNotFound, revisionNotFound, revisionNotYet } from './errors.ts';
import { type ReadView, scopeOf } from './instance.ts';
import type { SingleEventReply, SingleEventRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { causesOf } from './replies.ts';

type Wanted = SingleEventRequest['event'];

/** Returns one event, by its position or by its stream and stored id, at a revision. */
export async function singleEvent(context: ServiceContext, request: SingleEventRequest): Promise<SingleEventReply> {
  const view = await openView(context, request, request.at);
  return context.reads.read(view.binding, () => {
    const event = find(context, view, request);
    const source = context.reads.source(view.binding);
    const stored = transactionAt(source, event.position.revision);
    const { eventCount, view: record } = stored;
    return {
      ...scopeOf(view),
      event,
      eventCount,
      transactionId: transactionIdOfBody(record.body),
      correlationId: optionsOfBody(record.body).correlationId,
      causes: causesOf(source, stored),
    };
  });
}

function find(context: ServiceContext, view: ReadView, { at, event }: SingleEventRequest): StoredEvent {
  if (event.kind === 'id') return findById(context, view, event);
  const { revision, index } = event.position;
  if (typeof revision === 'number' && revision <= view.revision) return findAt(context, view, { revision, index });
  // At a given revision, the existence of later revisions does not matter.
  throw at === 'latest' || at === 'cached'
    ? revisionNotFound(scopeOf(view), revision)
    : revisionNotYet(scopeOf(view), revision);
}

function findAt(context: ServiceContext, view: ReadView, position: Position): StoredEvent {
  const { revision, index } = position;
  const found = revision === 0 ? undefined : eventAt(context.reads.source(view.binding), position);
  if (found !== undefined) return found;
  const eventCount = revision === 0 ? 0 : transactionAt(context.reads.source(view.binding), revision).eventCount;
  const indexes = eventCount === 0 ? 'no events' : `the events 0 to ${eventCount - 1}`;
  throw eventNotFound(scopeOf(view), `${index} at revision ${revision}, which has ${indexes}`);
}

function findById(context: ServiceContext, view: ReadView, wanted: Extract<Wanted, { kind: 'id' }>): StoredEvent {
  const found = eventById(context.reads.source(view.binding), view.revision, wanted);
  if (found !== undefined) return found;
  const where = `in the stream ${quote(wanted.stream)} at revision ${view.revision}`;
  throw eventNotFound(scopeOf(view), `${quote(wanted.id)} ${where}`);
}
