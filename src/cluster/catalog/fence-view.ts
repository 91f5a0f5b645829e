/** The view of the catalog group that the fence of deletions (catalog-fence.ts) uses. */
import { CATALOG_GROUP, type NodeId, nodeOf, replicaOf, toLogIndex } from '#base';
import { everybody, type Membership } from '#raft';
import type { FenceView } from './catalog-fence.ts';
import type { CatalogRequestsPorts } from './catalog-requests.ts';

const NOTHING = toLogIndex(0);

export function fenceView({ find, monotonicMs }: Pick<CatalogRequestsPorts, 'find' | 'monotonicMs'>): () => FenceView {
  let known: Membership | undefined;
  /** The same array as long as the membership is the same. */
  let members: readonly NodeId[] = [];
  return () => {
    const nowMs = monotonicMs();
    const group = find(CATALOG_GROUP);
    if (group === undefined) return { nowMs, written: NOTHING, members, heardMs: undefined, leader: undefined };
    const { role, membership } = group.raft;
    const self = nodeOf(group.self);
    if (membership !== known) {
      known = membership;
      members = everybody(membership)
        .map(nodeOf)
        .filter((node) => node !== self);
    }
    const shared = { nowMs, written: group.written.index, members };
    if (role.kind === 'leader') {
      const heardMs = (node: NodeId): number => role.peers.get(replicaOf(node))?.heardMs ?? nowMs;
      return { ...shared, heardMs, leader: undefined };
    }
    return { ...shared, heardMs: undefined, leader: group.leader && nodeOf(group.leader) };
  };
}
