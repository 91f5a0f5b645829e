import { CATALOG_GROUP } from '#base';
import type { ServiceContext } from './context.ts';
import type { DatabaseDescription, ListDatabasesRequest } from './operations.ts';
import { cachedRevision } from './read-scope.ts';

/** Databases that are described before the event loop has its turn. */
const PER_TURN = 100;

/** Every database that was acknowledged before (V9), by name, each at the revision that a cached read has. */
export async function listDatabases(
  context: ServiceContext,
  request: ListDatabasesRequest,
): Promise<readonly DatabaseDescription[]> {
  const { node, reads } = context;
  const described: DatabaseDescription[] = [];
  await node.latest(CATALOG_GROUP);
  for (const [place, binding] of node.catalog.list().entries()) {
    if (place % PER_TURN === PER_TURN - 1) await context.timers.turn();
    request.signal.throwIfAborted();
    // One that was deleted meanwhile is no longer in the catalog.
    if (node.catalog.lookup(binding.name)?.databaseId !== binding.databaseId) continue;
    const revision = await cachedRevision(context, request.signal, binding);
    described.push(await reads.read(binding, () => reads.describe(binding, revision)));
  }
  return described;
}
