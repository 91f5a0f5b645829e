/** Maps a refusal for lack of a replica (V10) to the nodes that can answer, by the local catalog. */
import { DatabaseError } from '#base';
import type { Node } from '#cluster';
import type { Elsewhere, Holder } from './operations.ts';

export function elsewhere(node: Node, failure: unknown): Elsewhere | undefined {
  const where = failure instanceof DatabaseError ? failure.details.holders : undefined;
  const binding = where && node.catalog.bindingOf(where.group);
  // A database that was deleted meanwhile has no replicas.
  if (where === undefined || binding === undefined) return undefined;
  const { group, databaseId } = binding;
  return { group, databaseId, holders: holdersIn(node).filter((holder) => where.nodes.includes(holder.node)) };
}

/** Every other node of the cluster that may have replicas. */
export function holdersIn({ catalog, identity }: Node): readonly Holder[] {
  const nodes = catalog.nodes();
  const ownZone = nodes.find(({ node }) => node === identity.node)?.zone;
  return nodes
    .filter(({ node, state }) => node !== identity.node && state !== 'removed')
    .map(({ node, name, grpc, http, zone }) => ({ node, name, grpc, http, isNear: zone === ownZone }));
}
