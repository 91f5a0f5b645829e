import { term } from '#model';
import { eventAt, queryEvents, type StoredEvent, transactionAt } from '#query';
import type { ServiceContext } from './context.ts';
import { eventNotFound, revisionNotFound } from './errors.ts';
import { type ReadView, scopeOf } from './instance.ts';
import type { SingleEventReply, SingleEventRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { storedIdOf } from './replies.ts';

type Wanted = SingleEventRequest['event'];

/** One event, by its position or by its stream and stored id, as of a revision. */
export async function singleEvent(context: ServiceContext, request: SingleEventRequest): Promise<SingleEventReply> {
  const view = await openView(context, request, request.at);
  return context.reads.read(view.binding, async () => {
    const event = await find(context, view, request);
    const { eventCount } = transactionAt(context.reads.source(view.binding), event.position.revision);
    return { ...scopeOf(view), event, eventCount };
  });
}

function find(
  context: ServiceContext,
  view: ReadView,
  request: SingleEventRequest,
): Promise<StoredEvent> | StoredEvent {
  const { event } = request;
  return event.kind === 'id' ? findById(context, view, { ...request, event }) : findAt(context, view, event);
}

function findAt(context: ServiceContext, view: ReadView, wanted: Extract<Wanted, { kind: 'position' }>): StoredEvent {
  const { name } = view.binding;
  const { revision, index } = wanted.position;
  if (revision > view.revision) throw revisionNotFound(name, revision, view.revision);
  const found = revision === 0 ? undefined : eventAt(context.reads.source(view.binding), wanted.position);
  if (found === undefined) throw eventNotFound(name, `${index} at revision ${revision}`);
  return found;
}

async function findById(
  context: ServiceContext,
  view: ReadView,
  request: SingleEventRequest & { readonly event: Extract<Wanted, { kind: 'id' }> },
): Promise<StoredEvent> {
  const { event: wanted, signal } = request;
  const query = { selector: term('by-stream', wanted.stream), revisions: {}, direction: 'reverse' } as const;
  const source = context.reads.source(view.binding);
  for await (const events of queryEvents(source, { at: view.revision, query, signal })) {
    const found = events.find((event) => storedIdOf(event) === wanted.id);
    if (found !== undefined) return found;
  }
  signal.throwIfAborted();
  throw eventNotFound(view.binding.name, `${JSON.stringify(wanted.id)} in the stream ${JSON.stringify(wanted.stream)}`);
}
