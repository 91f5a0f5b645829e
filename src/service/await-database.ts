import { nearestRevision } from '#base';
import type { ServiceContext } from './context.ts';
import { assertHeld, find } from './instance.ts';
import type { AwaitDatabaseRequest, DatabaseDescription } from './operations.ts';
import { aboveFloors, waitForRevision } from './read-scope.ts';

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
