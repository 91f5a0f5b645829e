/** Lists the databases of the cluster with their latest revisions. */
import { CATALOG_GROUP } from '#base';
import type { Binding } from '#cluster';
import type { ServiceContext } from './context.ts';
import { describedElsewhere } from './elsewhere.ts';
import type { DatabaseDescription, ListDatabasesRequest, ListedDatabase } from './operations.ts';
import { cachedRevision } from './read-scope.ts';

/** Databases that are described before the event loop gets a turn. */
const PER_TURN = 100;

/**
 * Lists every database that was acknowledged before (V9), by name, at the revision of a cached read. A database without
 * a replica on this node is described by another node (V10).
 */
export async function listDatabases(
  context: ServiceContext,
  request: ListDatabasesRequest,
): Promise<readonly ListedDatabase[]> {
  const { node, reads } = context;
  const described: DatabaseDescription[] = [];
  const notHeld: Binding[] = [];
  await node.latest(CATALOG_GROUP);
  for (const [place, binding] of node.catalog.list().entries()) {
    if (place % PER_TURN === PER_TURN - 1) await context.timers.turn();
    request.signal.throwIfAborted();
    // A database that was deleted meanwhile is no longer in the catalog.
    if (node.catalog.lookup(binding.name)?.databaseId !== binding.databaseId) continue;
    if (node.absence(binding.group) !== undefined) {
      notHeld.push(binding);
      continue;
    }
    const revision = await cachedRevision(context, request.signal, binding);
    described.push(await reads.read(binding, () => reads.describe(binding, revision)));
  }
  if (request.heldOnly === true || notHeld.length === 0) return described;
  const others = await describedElsewhere(context, notHeld, request);
  return [...described, ...others].toSorted((one, other) => (one.databaseName < other.databaseName ? -1 : 1));
}
