/** The database at a revision, and at a time. */
import { formatInstant, type Instant, instantFromMs, instantToMs, toRevision } from '#base';
import { revisionAtTimestamp } from '#query';
import type { ServiceContext } from './context.ts';
import { notYetCreated } from './errors.ts';
import { scopeOf } from './instance.ts';
import type { DatabaseAtRequest, DatabaseAtTimestampRequest, DatabaseDescription } from './operations.ts';
import { openView } from './read-scope.ts';

/**
 * A call that means now, on the clock of this node, comes within this time; looked at only when that clock was set
 * back. Longer than a call takes, and than clocks of one cluster differ.
 */
const NOW_TOLERANCE_MS = 5_000;

/** The database at a revision, at its latest (read index), or at whatever this node has applied. */
export async function databaseAt(context: ServiceContext, request: DatabaseAtRequest): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, request.at);
  return context.reads.read(binding, () => context.reads.describe(binding, revision));
}

/**
 * The database at the latest revision that was recorded at the time or before; not_found before its creation. Recorded
 * time never goes back, the clock may: an answered revision never lies after now (ADR 0009).
 */
export async function databaseAtTimestamp(
  context: ServiceContext,
  request: DatabaseAtTimestampRequest,
): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, 'latest');
  return context.reads.read(binding, () => {
    // At revision 0 there are no rows to look at yet.
    const source = context.reads.source(binding);
    const at = revisionAtTimestamp(source, revision, request.timestamp);
    if (at !== revision) {
      const latest = context.reads.describe(binding, revision);
      if (isNow(context.clock.nowMs(), latest, request.timestamp)) return latest;
    }
    if (at === undefined) {
      const created = formatInstant(instantFromMs(binding.createdAtMs));
      throw notYetCreated(scopeOf({ binding, revision }), formatInstant(request.timestamp), created);
    }
    return context.reads.describe(binding, toRevision(at));
  });
}

/** Whether the time is the present or later, of a clock that is behind what it recorded. */
function isNow(nowMs: number, { revisionTimeMs }: DatabaseDescription, time: Instant): boolean {
  return nowMs < revisionTimeMs && instantToMs(time) >= nowMs - NOW_TOLERANCE_MS;
}
