/** From a refusal for want of a copy (V10) to the nodes that can answer, as the catalog here knows them. */
import { DatabaseError } from '#base';
import type { Node } from '#cluster';
import type { Elsewhere } from './operations.ts';

export function elsewhere({ catalog, identity }: Node, failure: unknown): Elsewhere | undefined {
  const where = failure instanceof DatabaseError ? failure.details.holders : undefined;
  if (where === undefined) return undefined;
  const nodes = catalog.nodes();
  const zone = nodes.find(({ node }) => node === identity.node)?.zone;
  const holders = nodes
    .filter(({ node, state }) => where.nodes.includes(node) && node !== identity.node && state !== 'removed')
    .map(({ node, name, grpc, http, zone: theirs }) => ({ node, name, grpc, http, isNear: theirs === zone }));
  return { group: where.group, holders };
}
