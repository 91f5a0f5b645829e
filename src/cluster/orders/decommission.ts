/**
 * What an operator may ask of a node, and why not. Pure functions of what whoever leads the catalog sees.
 *
 * ```
 *   decommission   active -> leaving; what it holds moves, then it is removed
 *   recommission   leaving -> active
 *   replace        the same as decommission, once the node that is to take its place has joined and answers
 * ```
 * What is so already is no fault, so that each may be repeated.
 *
 *   C20  A node begins to leave only if another one stays, and each database that it holds, and the catalog, can go on
 *        without it: most of those who hold it answer, and most of those who will.
 */
import { type GroupId, type NodeId, nodeOf } from '#base';
import type { Membership } from '#raft';
import { catalogTarget } from '../catalog/catalog-voters.ts';
import type { NodeState } from '../outcome.ts';
import type { NodeView, PlacementView } from '../placement/placement.ts';
import { planPlacements } from '../placement/placement-plan.ts';
import { answers, canTake } from '../placement/spread.ts';
import { ANEW } from '../requests/refusals.ts';

export type NodeOrder =
  | { readonly kind: 'decommission'; readonly node: NodeId }
  | { readonly kind: 'recommission'; readonly node: NodeId }
  /** `by` undefined: by whoever is free. */
  | { readonly kind: 'replace'; readonly node: NodeId; readonly by: NodeId | undefined };

export interface OrderFault {
  readonly code: 'not_found' | 'failed_precondition';
  readonly reason: string;
}

export interface ClusterState extends PlacementView {
  /** Of the catalog. */
  readonly membership: Membership;
  /** Copies of each database, if there are so many nodes. */
  readonly copies: number;
}

/** Databases that a refusal names. */
const NAMED_MAX = 3;

/** The state that the order takes a node to; it is carried out when the node is in it, or beyond it. */
export function goalOf({ kind }: NodeOrder): NodeState {
  return kind === 'recommission' ? 'active' : 'leaving';
}

/** Why the order cannot be carried out, or undefined. */
export function faultInOrder(order: NodeOrder, cluster: ClusterState): OrderFault | undefined {
  const node = cluster.nodes.find((each) => each.node === order.node);
  if (node === undefined) return notThere(order.node, cluster);
  if (order.kind === 'recommission') {
    return node.state === 'removed' ? failed(`node ${node.node} was removed, for good; ${ANEW}`) : undefined;
  }
  if (node.state !== 'active') return undefined;
  const fault = order.kind === 'replace' ? faultInSuccessor(order, cluster) : undefined;
  return fault ?? faultInLeaving(node, cluster);
}

function faultInSuccessor(
  { node, by }: NodeOrder & { readonly kind: 'replace' },
  { nodes }: ClusterState,
): OrderFault | undefined {
  if (by === node) return failed(`node ${node} cannot take its own place`);
  const next = nodes.find((each) => each.node === by);
  if (by !== undefined && next === undefined) {
    return { code: 'not_found', reason: `node ${by} has not joined; start it with --join, and ask again` };
  }
  if (next !== undefined && !canTake(next)) {
    return failed(
      `node ${by} cannot take the place of node ${node}: it is ${next.state} and ${next.liveness}; ask again when it is active and ready`,
    );
  }
  if (next !== undefined || nodes.some((each) => each.node !== node && canTake(each))) return undefined;
  return failed(`no node is there that could take the place of node ${node}; start one with --join, and ask again`);
}

function faultInLeaving(node: NodeView, { membership, copies, ...view }: ClusterState): OrderFault | undefined {
  const others = view.nodes.filter((each) => each.node !== node.node && each.state === 'active');
  if (others.length === 0) return failed(`node ${node.node} is the only one that is active`);
  const up = others.filter(answers).map((each) => each.node);
  if (up.length === 0) return failed(`none of the other nodes answers (${others.map((each) => each.node).join(', ')})`);
  // Whether it is possible now, with nobody to wait for.
  const nodes = view.nodes.map((each) => {
    const now = { ...each, isExpected: false };
    return each === node ? { ...now, state: 'leaving' as const } : now;
  });
  if (catalogTarget(nodes, membership) === undefined) {
    return failed(`the catalog would have no quorum without node ${node.node}: of the others answer ${up.join(', ')}`);
  }
  const moving = new Set<GroupId>(
    planPlacements({ ...view, nodes }, { copies, movesMax: Number.POSITIVE_INFINITY }).map(({ group }) => group),
  );
  const stuck = view.bindings.filter(({ group, replicas, leaving }) => {
    const staying = replicas.filter((replica) => !leaving.includes(replica));
    return staying.some((replica) => nodeOf(replica) === node.node) && !moving.has(group);
  });
  if (stuck.length === 0) return undefined;
  const named = stuck
    .slice(0, NAMED_MAX)
    .map(({ name, replicas }) => `${name} (on ${replicas.map(nodeOf).join(', ')})`);
  const more = stuck.length > NAMED_MAX ? `, and ${stuck.length - NAMED_MAX} more` : '';
  return failed(
    `without node ${node.node} there would be no quorum of ${named.join(', ')}${more}: of the others answer ${up.join(', ')}`,
  );
}

function notThere(node: NodeId, { nodes }: ClusterState): OrderFault {
  const known = nodes.map((each) => each.node).join(', ');
  return {
    code: 'not_found',
    reason: `there is no node ${node}; the cluster has ${known === '' ? 'none yet' : known}`,
  };
}

function failed(reason: string): OrderFault {
  return { code: 'failed_precondition', reason };
}
