/**
 * Reads of many events at one revision, as they are pulled: those that a query selects, in its order, and the log, as
 * events or as whole transactions in their stored form.
 */
import { scanLogBatches as batchesOfSource, type LogScan, queryEvents as queryOfSource, scanLogEvents } from '#query';
import type { ServiceContext } from './context.ts';
import { type ReadView, scopeOf } from './instance.ts';
import type { QueryEventsReply, QueryEventsRequest, ScanLogBatchesReply, ScanLogRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { watchedSlices } from './streams.ts';

export async function queryEvents(context: ServiceContext, request: QueryEventsRequest): Promise<QueryEventsReply> {
  const { signal, query, pace, lent } = request;
  const view = await openView(context, request, request.at);
  const source = context.reads.source(view.binding);
  const slices = queryOfSource(source, { at: view.revision, query, signal, pace, lent });
  return { ...scopeOf(view), chunks: watchedSlices(context, request, { view, op: 'query', slices }) };
}

/** The log up to the latest revision at the start of the scan. */
export async function scanLog(context: ServiceContext, request: ScanLogRequest): Promise<QueryEventsReply> {
  const view = await openView(context, request, 'latest');
  const slices = scanLogEvents(context.reads.source(view.binding), scanOf(view, request));
  return { ...scopeOf(view), chunks: watchedSlices(context, request, { view, op: 'scan', slices }) };
}

export async function scanLogBatches(context: ServiceContext, request: ScanLogRequest): Promise<ScanLogBatchesReply> {
  const view = await openView(context, request, 'latest');
  const slices = batchesOfSource(context.reads.source(view.binding), scanOf(view, request));
  return { ...scopeOf(view), batches: watchedSlices(context, request, { view, op: 'scan_batches', slices }) };
}

function scanOf({ revision: at }: ReadView, request: ScanLogRequest): LogScan {
  const { startRevision: start, direction, limit, signal, pace, lent } = request;
  return { at, start, direction, limit: limit === 0 ? undefined : limit, signal, pace, lent };
}
