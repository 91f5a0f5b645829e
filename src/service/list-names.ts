/** Lists the streams, subjects and event types of a database, page by page. */
import {
  type DatabaseSource,
  listEventTypes as eventTypesIn,
  type ListedName,
  type Listing,
  listStreams as streamsIn,
  listSubjects as subjectsIn,
} from '#query';
import type { ServiceContext } from './context.ts';
import { scopeOf } from './instance.ts';
import type { ListNamesReply, ListNamesRequest } from './operations.ts';
import { openView } from './read-scope.ts';

type Walk = (source: DatabaseSource, listing: Listing) => AsyncIterable<readonly ListedName[]>;

type ListNames = (context: ServiceContext, request: ListNamesRequest) => Promise<ListNamesReply>;

export const listStreams: ListNames = (context, request) => listNames(context, request, streamsIn);
export const listSubjects: ListNames = (context, request) => listNames(context, request, subjectsIn);
export const listEventTypes: ListNames = (context, request) => listNames(context, request, eventTypesIn);

/** One page of names with an event at or before the revision, in byte order. */
async function listNames(context: ServiceContext, request: ListNamesRequest, walk: Walk): Promise<ListNamesReply> {
  const view = await openView(context, request, request.at);
  const { prefix, after, signal } = request;
  const limit = Math.min(request.limit, context.limits.namesPerPageMax);
  const source = context.reads.source(view.binding);
  // Reads one more than the page, to find out whether there are more.
  const slices = walk(source, { at: view.revision, prefix, after, limit: limit + 1, signal });
  const names: ListedName[] = [];
  for await (const slice of context.reads.stream(view.binding, slices, signal)) names.push(...slice);
  signal.throwIfAborted();
  return { ...scopeOf(view), names: names.slice(0, limit), hasMore: names.length > limit };
}
