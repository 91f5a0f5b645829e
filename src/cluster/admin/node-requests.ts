/** Carries out admin requests about nodes (decommission.ts). */
import type { CatalogRequest, CatalogRequestsPorts, Passed } from '../catalog/catalog-requests.ts';
import type { Machines } from '../machine.ts';
import type { RegisteredNode } from '../outcome.ts';
import type { Upkeep } from '../placement/placement.ts';
import { nodeViews } from '../placement/spread.ts';
import { faultInOrder, goalOf, type NodeOrder, type OrderFault } from './decommission.ts';

type Ordered =
  /** The node is in the requested state, or beyond it. */
  { readonly kind: 'done'; readonly node: RegisteredNode } | ({ readonly kind: 'faulty' } & OrderFault);

export type OrderAnswer = Ordered | Passed;

export interface NodeRequestPorts extends Pick<CatalogRequestsPorts, 'catalog' | 'monotonicMs'> {
  readonly upkeep?: Upkeep;
  readonly machines: Machines;
}

export function nodeRequest(ports: NodeRequestPorts, order: NodeOrder): CatalogRequest<Ordered> {
  const { upkeep, machines, catalog, monotonicMs } = ports;
  const { copies = 1, replaceAfterMs } = upkeep ?? {};
  return {
    // Requests may revert each other: a state seen on a follower may already have been reverted.
    answer: (isLatest) => (isLatest ? doneBy(catalog().nodes(), order) : undefined),
    fault: (group) => {
      const nodes = nodeViews(catalog(), group, { nowMs: monotonicMs(), replaceAfterMs });
      const { membership } = group.raft;
      const fault = faultInOrder(order, { nodes, bindings: catalog().list(), copies, membership });
      return fault && { kind: 'faulty', ...fault };
    },
    waitsForLeader: true,
    encode: () => machines.encode({ kind: 'mark', node: order.node, state: goalOf(order) }),
  };
}

function doneBy(nodes: readonly RegisteredNode[], order: NodeOrder): Ordered | undefined {
  const node = nodes.find((each) => each.node === order.node);
  const isThere = node?.state === goalOf(order) || (node?.state === 'removed' && order.kind !== 'recommission');
  return node !== undefined && isThere ? { kind: 'done', node } : undefined;
}
