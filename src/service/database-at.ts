/** Describes a database at a revision, also at one that it does not have yet, or at a time. */
import { formatInstant, type Instant, instantFromMs, instantToMs, nearestRevision, toRevision } from '#base';
import { revisionAtTimestamp } from '#query';
import type { ServiceContext } from './context.ts';
import { notYetCreated } from './errors.ts';
import { assertHeld, find, scopeOf } from './instance.ts';
import type {
  AwaitDatabaseRequest,
  DatabaseAtRequest,
  DatabaseAtTimestampRequest,
  DatabaseDescription,
} from './operations.ts';
import { aboveFloors, openView, waitForRevision } from './read-scope.ts';

/**
 * A request for "now" is at most this much ahead of the clock; needed only when the clock was set back. Longer than a
 * call takes and than clocks in a cluster differ.
 */
const NOW_TOLERANCE_MS = 5_000;

/** Returns the database at a revision, at its latest (read index), or at the revision that this node has applied. */
export async function databaseAt(context: ServiceContext, request: DatabaseAtRequest): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, request.at);
  return context.reads.read(binding, () => context.reads.describe(binding, revision));
}

/**
 * Returns the database at the latest revision that was recorded at or before the time; not_found before its creation.
 * Recorded time never decreases but the clock may: a returned revision is never later than now (ADR 0009).
 */
export async function databaseAtTimestamp(
  context: ServiceContext,
  request: DatabaseAtTimestampRequest,
): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, 'latest');
  return context.reads.read(binding, async () => {
    // Revision 0 has no rows.
    const source = context.reads.source(binding);
    const at = await revisionAtTimestamp(source, revision, request.timestamp);
    if (at !== revision) {
      const latest = await context.reads.describe(binding, revision);
      if (isNow(context.clock.nowMs(), latest, request.timestamp)) return latest;
    }
    if (at === undefined) {
      const created = formatInstant(instantFromMs(binding.createdAtMs));
      throw notYetCreated(scopeOf({ binding, revision }), formatInstant(request.timestamp), created);
    }
    return context.reads.describe(binding, toRevision(at));
  });
}

/** Returns whether the time is now or later, on a clock that lags the recorded time. */
function isNow(nowMs: number, { revisionTimeMs }: DatabaseDescription, time: Instant): boolean {
  return nowMs < revisionTimeMs && instantToMs(time) >= nowMs - NOW_TOLERANCE_MS;
}

/** Returns the database at the revision as soon as it exists here; the signal limits the wait (V8). */
export async function awaitDatabase(
  context: ServiceContext,
  request: AwaitDatabaseRequest,
): Promise<DatabaseDescription> {
  const { signal } = request;
  const revision = nearestRevision(request.revision);
  signal.throwIfAborted();
  const { node } = context;
  const { databaseName } = request;
  const binding = await find(node, databaseName, signal);
  signal.throwIfAborted();
  assertHeld(node, binding);
  await waitForRevision(context, { signal, binding, revision });
  await aboveFloors(context, request, binding);
  return context.reads.read(binding, () => context.reads.describe(binding, revision));
}
