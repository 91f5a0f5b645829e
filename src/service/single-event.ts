import { eventAt, eventById, transactionAt } from '#query';
import type { ServiceContext } from './context.ts';
import { eventNotFound, revisionNotFound } from './errors.ts';
import type { SingleEventReply, SingleEventRequest } from './operations.ts';
import { openView, type ReadView, scopeOf } from './read-scope.ts';
import type { StoredEvent } from '#query';

/** One event, by its position or by its stream and stored id, as of a revision. */
export async function singleEvent(context: ServiceContext, request: SingleEventRequest): Promise<SingleEventReply> {
  const view = await openView(context, request, request.at);
  return context.reads.read(view.binding, () => {
    const event = find(context, view, request.event);
    const { eventCount } = transactionAt(context.reads.source(view.binding), event.position.revision);
    return { ...scopeOf(view), event, eventCount };
  });
}

function find(context: ServiceContext, view: ReadView, wanted: SingleEventRequest['event']): StoredEvent {
  const source = context.reads.source(view.binding);
  const { name } = view.binding;
  if (wanted.kind === 'id') {
    const found = eventById(source, view.revision, wanted);
    if (found === undefined) throw eventNotFound(name, `${JSON.stringify(wanted.id)} in the stream ${JSON.stringify(wanted.stream)}`);
    return found;
  }
  const { revision, index } = wanted.position;
  if (revision > view.revision) throw revisionNotFound(name, revision, view.revision);
  const found = revision === 0 ? undefined : eventAt(source, wanted.position);
  if (found === undefined) throw eventNotFound(name, `${index} at revision ${revision}`);
  return found;
}
