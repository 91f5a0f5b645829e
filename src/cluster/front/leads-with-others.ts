/** Counts the leaderships of a node that other nodes could take, from the view of its front. */
import { CATALOG_GROUP, type GroupId, type NodeId } from '#base';
import type { CatalogMirror } from '../node.ts';

export function leadsWithOthers(
  node: NodeId,
  catalog: Pick<CatalogMirror, 'nodes' | 'list'>,
  leaders: ReadonlyMap<GroupId, NodeId | undefined>,
): number {
  const nodes = catalog.nodes().filter(({ state }) => state !== 'removed');
  let count = leaders.get(CATALOG_GROUP) === node && nodes.length > 1 ? 1 : 0;
  for (const { group, replicas } of catalog.list()) {
    if (replicas.length > 1 && leaders.get(group) === node) count += 1;
  }
  return count;
}
