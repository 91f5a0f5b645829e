/** Reads the log of a database in log order: as events, or as whole transactions in their stored form. */
import { scanLogBatches as batchesOfSource, type LogScan, scanLogEvents } from '#query';
import type { ServiceContext } from './context.ts';
import { type ReadView, scopeOf } from './instance.ts';
import type { QueryEventsReply, ScanLogBatchesReply, ScanLogRequest } from './operations.ts';
import { openView } from './read-scope.ts';
import { meteredSlices } from './streams.ts';
import { tracedSlices } from './tracing.ts';

/** The log as events, up to the requested revision, or the latest at the start of the scan. */
export async function scanLog(context: ServiceContext, request: ScanLogRequest): Promise<QueryEventsReply> {
  const { signal } = request;
  const view = await openView(context, request, request.at ?? 'latest');
  const slices = scanLogEvents(context.reads.source(view.binding), scanOf(view, request));
  const chunks = meteredSlices(context, { view, op: 'scan', signal, slices });
  return { ...scopeOf(view), chunks: tracedSlices(request.span, chunks) };
}

/** The log as whole transactions in their stored form. */
export async function scanLogBatches(context: ServiceContext, request: ScanLogRequest): Promise<ScanLogBatchesReply> {
  const { signal } = request;
  const view = await openView(context, request, request.at ?? 'latest');
  const slices = batchesOfSource(context.reads.source(view.binding), scanOf(view, request));
  const batches = meteredSlices(context, { view, op: 'scan_batches', signal, slices });
  return { ...scopeOf(view), batches: tracedSlices(request.span, batches) };
}

function scanOf(view: ReadView, request: ScanLogRequest): LogScan {
  const { startRevision, direction, limit, signal, pace, lent } = request;
  return {
    at: view.revision,
    start: startRevision,
    direction,
    limit: limit === 0 ? undefined : limit,
    signal,
    pace,
    lent,
  };
}
