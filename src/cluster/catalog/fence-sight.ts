/** The view of the catalog group that the fence of deletions (catalog-fence.ts) uses. */
import { CATALOG_GROUP, type NodeId, nodeOf, replicaOf, toLogIndex } from '#base';
import { everybody, type Membership } from '#raft';
import type { FenceView } from './catalog-fence.ts';
import type { CatalogRequestsPorts } from './catalog-requests.ts';

const NOTHING = toLogIndex(0);

export class FenceSight {
  readonly #ports: Pick<CatalogRequestsPorts, 'find' | 'monotonicMs'>;
  #membership: Membership | undefined;
  /** The same array as long as the membership is the same. */
  #members: readonly NodeId[] = [];

  constructor(ports: Pick<CatalogRequestsPorts, 'find' | 'monotonicMs'>) {
    this.#ports = ports;
  }

  view(): FenceView {
    const nowMs = this.#ports.monotonicMs();
    const group = this.#ports.find(CATALOG_GROUP);
    if (group === undefined) {
      return { nowMs, written: NOTHING, members: this.#members, heardMs: undefined, leader: undefined };
    }
    const { role, membership } = group.raft;
    if (membership !== this.#membership) {
      this.#membership = membership;
      this.#members = everybody(membership)
        .map(nodeOf)
        .filter((node) => node !== nodeOf(group.self));
    }
    const shared = { nowMs, written: group.written.index, members: this.#members };
    if (role.kind !== 'leader') {
      const leader = group.leader === undefined ? undefined : nodeOf(group.leader);
      return { ...shared, heardMs: undefined, leader };
    }
    const heardMs = (node: NodeId): number => role.peers.get(replicaOf(node))?.heardMs ?? nowMs;
    return { ...shared, heardMs, leader: undefined };
  }
}
