import { queryEvents as queryOfSource } from '#query';
import type { ServiceContext } from './context.ts';
import { scopeOf } from './instance.ts';
import type { QueryEventsReply, QueryEventsRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { meteredSlices } from './streams.ts';
import { tracedSlices } from './tracing.ts';

/** Reads the events that a query selects at a revision, in its order, as they are pulled. */
export async function queryEvents(context: ServiceContext, request: QueryEventsRequest): Promise<QueryEventsReply> {
  const { signal, query, pace, lent } = request;
  const view = await openView(context, request, request.at);
  const source = context.reads.source(view.binding);
  const slices = queryOfSource(source, { at: view.revision, query, signal, pace, lent });
  const chunks = meteredSlices(context, { view, op: 'query', signal, slices });
  return { ...scopeOf(view), chunks: tracedSlices(request.span, chunks) };
}
