/**
 * Other nodes, for databases without a replica on this node: which of them can answer a request (V10), and their
 * descriptions of the databases of a list.
 */
import { DatabaseError, type DatabaseId, type NodeId, nodeOf } from '#base';
import type { Binding, Node } from '#cluster';
import type { ServiceContext } from './context.ts';
import type {
  DatabaseDescription,
  Elsewhere,
  Holder,
  ListAt,
  ListDatabasesRequest,
  ListedDatabase,
} from './operations.ts';

const NOBODY_ANSWERS: ListAt = () => Promise.resolve([]);

/**
 * Describes each database, in any order. It asks as few nodes as possible in parallel, and further nodes for databases
 * that are still missing. A database that none of them serves has no revision.
 */
export async function describedElsewhere(
  { node, listAt = NOBODY_ANSWERS }: ServiceContext,
  bindings: readonly Binding[],
  { signal, proof }: Pick<ListDatabasesRequest, 'signal' | 'proof'>,
): Promise<readonly ListedDatabase[]> {
  const open = new Map<DatabaseId, Binding>(bindings.map((binding) => [binding.databaseId, binding]));
  const described: DatabaseDescription[] = [];
  const others = new Map<NodeId, Holder>(holdersIn(node).map((holder) => [holder.node, holder]));
  while (open.size > 0) {
    const asked = fewestFor([...open.values()], others);
    if (asked.length === 0) break;
    const lists = await Promise.all(asked.map((holder) => listAt(holder, signal, proof)));
    signal.throwIfAborted();
    for (const { node: number } of asked) others.delete(number);
    for (const description of lists.flat()) if (open.delete(description.databaseId)) described.push(description);
  }
  const unserved = Array.from(open.values(), ({ name: databaseName, databaseId, createdAtMs }) => {
    return { databaseName, databaseId, createdAtMs, revision: undefined };
  });
  return [...described, ...unserved];
}

/**
 * Selects few nodes that together have as many of the databases as all nodes do; each time the one with the most
 * remaining databases.
 */
function fewestFor(bindings: readonly Binding[], others: ReadonlyMap<NodeId, Holder>): readonly Holder[] {
  const chosen: Holder[] = [];
  let left = bindings;
  for (;;) {
    const counts = new Map<NodeId, number>();
    for (const { replicas } of left) {
      for (const replica of replicas) counts.set(nodeOf(replica), (counts.get(nodeOf(replica)) ?? 0) + 1);
    }
    const [most] = [...counts].filter(([node]) => others.has(node)).toSorted((one, other) => other[1] - one[1]);
    const holder = most && others.get(most[0]);
    if (holder === undefined) return chosen;
    chosen.push(holder);
    left = left.filter(({ replicas }) => !replicas.some((replica) => nodeOf(replica) === holder.node));
  }
}

/** Maps a refusal for lack of a replica to the nodes that can answer, by the local catalog. */
export function elsewhere(node: Node, failure: unknown): Elsewhere | undefined {
  const where = failure instanceof DatabaseError ? failure.details.holders : undefined;
  const binding = where && node.catalog.bindingOf(where.group);
  // A database that was deleted meanwhile has no replicas.
  if (where === undefined || binding === undefined) return undefined;
  const { group, databaseId } = binding;
  return { group, databaseId, holders: holdersIn(node).filter((holder) => where.nodes.includes(holder.node)) };
}

/** Every other node of the cluster that may have replicas. */
function holdersIn({ catalog, identity }: Node): readonly Holder[] {
  const nodes = catalog.nodes();
  const ownZone = nodes.find(({ node }) => node === identity.node)?.zone;
  return nodes
    .filter(({ node, state }) => node !== identity.node && state !== 'removed')
    .map(({ node, name, grpc, http, zone }) => ({ node, name, grpc, http, isNear: zone === ownZone }));
}
