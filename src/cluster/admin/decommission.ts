/**
 * Rules for admin requests about the state of a node. Pure functions of the view of the catalog's leader.
 *
 * ```
 *   decommission   active -> leaving; its replicas move, then it is removed
 *   recommission   leaving -> active
 *   replace        like decommission, once each of its databases has a ready node without a replica; a named node must
 *                  lack at least one of them
 * ```
 * A request for the current state succeeds, so that each may be repeated.
 *
 *   C20  A node starts to leave only if another one stays, and if the catalog and each of its databases keep a quorum
 *        without it: most of the current replicas answer, and most of the later ones. Each database keeps
 *        two replicas, and as many as before when a node is replaced; a database with two may be left with one, but
 *        not while another node leaves. A learner may always leave: nothing counts on it.
 */
import { type NodeId, nodeOf } from '#base';
import { mayVote } from '#database';
import type { Membership } from '#raft';
import type { Binding, NodeState } from '../outcome.ts';
import { catalogTarget } from '../placement/catalog-voters.ts';
import type { NodeView, PlacementView } from '../placement/placement.ts';
import { planPlacements } from '../placement/placement-plan.ts';
import { answers } from '../placement/spread.ts';
import { JOIN_AS_NEW } from '../refusals.ts';

export type NodeOrder =
  | { readonly kind: 'decommission'; readonly node: NodeId }
  | { readonly kind: 'recommission'; readonly node: NodeId }
  /** `by` undefined: any free node. */
  | { readonly kind: 'replace'; readonly node: NodeId; readonly by: NodeId | undefined };

export interface OrderFault {
  readonly code: 'not_found' | 'failed_precondition';
  readonly reason: string;
}

export interface ClusterState extends PlacementView {
  /** Membership of the catalog. */
  readonly membership: Membership;
  /** Replicas of a database that asks for no number, if there are enough nodes. */
  readonly copies: number;
}

/** Maximum number of databases named in a refusal. */
const NAMED_MAX = 3;

/** Minimum number of replicas that a database keeps. If only one node leaves, it may leave one. */
const REPLICAS_MIN = 2;

/** The state that the request takes a node to; it is complete when the node is in it, or beyond it. */
export function goalOf({ kind }: NodeOrder): NodeState {
  return kind === 'recommission' ? 'active' : 'leaving';
}

/** Reason to refuse the request, or undefined. */
export function faultInOrder(order: NodeOrder, cluster: ClusterState): OrderFault | undefined {
  const node = cluster.nodes.find((each) => each.node === order.node);
  if (node === undefined) return notThere(order.node, cluster);
  if (order.kind === 'recommission') {
    return node.state === 'removed' ? failed(`node ${node.node} was removed permanently; ${JOIN_AS_NEW}`) : undefined;
  }
  if (node.state !== 'active') return undefined;
  const fault = order.kind === 'replace' ? faultInSuccessor(order, cluster) : undefined;
  // Nothing counts on a learner.
  if (fault !== undefined || node.isLearner) return fault;
  return faultInLeaving(node, cluster, order.kind === 'replace' ? Number.POSITIVE_INFINITY : REPLICAS_MIN);
}

function faultInSuccessor(
  { node, by }: NodeOrder & { readonly kind: 'replace' },
  { nodes, bindings }: ClusterState,
): OrderFault | undefined {
  if (by === node) return failed(`node ${node} cannot replace itself`);
  const next = nodes.find((each) => each.node === by);
  if (by !== undefined && next === undefined) {
    return { code: 'not_found', reason: `node ${by} has not joined; start it with --join, and ask again` };
  }
  const isLearner = nodes.some((each) => each.node === node && each.isLearner);
  if (next !== undefined && next.isLearner !== isLearner) {
    const which = isLearner ? 'which is a learner: name a learner' : 'for it is a learner: name a node that votes';
    return failed(`node ${by} cannot take the place of node ${node}, ${which}`);
  }
  if (next !== undefined && !isReady(next)) {
    return failed(
      `node ${by} cannot take the place of node ${node}: it is ${next.state} and ${next.liveness}; ask again when it is active and ready`,
    );
  }
  const ready = nodes
    .filter((each) => each.node !== node && each.isLearner === isLearner && isReady(each))
    .map((each) => each.node);
  if (ready.length === 0) return noneFree(node, '');
  const held = bindings.filter((binding) => holds(binding, node));
  // The replacement need not take everything: replicas that it got when it joined can move to other nodes.
  const full = held.filter((binding) => ready.every((each) => holds(binding, each)));
  if (full.length > 0) {
    const are =
      ready.length === 1
        ? `node ${ready.join()}, which is ready, holds`
        : `nodes ${ready.join(', ')}, which are ready, hold`;
    return noneFree(node, `: ${are} ${named(full)} already`);
  }
  if (by === undefined || held.length === 0 || held.some((binding) => !holds(binding, by))) return undefined;
  return failed(
    `node ${by} cannot take the place of node ${node}: it holds all that node ${node} does, ${named(held)}; name another one, or ask without --by`,
  );
}

function isReady({ state, liveness }: NodeView): boolean {
  return state === 'active' && liveness === 'ready';
}

function noneFree(node: NodeId, why: string): OrderFault {
  return failed(
    `no node is there that could take the place of node ${node}${why}; start one with --join, and ask again`,
  );
}

/** Returns whether the node has a replica that stays as long as the node does. */
function holds({ replicas, leaving }: Binding, node: NodeId): boolean {
  return replicas.some((replica) => nodeOf(replica) === node && !leaving.includes(replica));
}

function faultInLeaving(
  node: NodeView,
  { membership, copies, ...view }: ClusterState,
  replicasMin: number,
): OrderFault | undefined {
  const others = view.nodes.filter((each) => each.node !== node.node && mayVote(each));
  if (others.length === 0) return failed(`node ${node.node} is the only one that is active`);
  const up = others.filter(answers).map((each) => each.node);
  if (up.length === 0) return failed(`none of the other nodes answers (${others.map((each) => each.node).join(', ')})`);
  // True when it is possible now, without waiting for any node.
  const nodes = view.nodes.map((each) => {
    const now = { ...each, isExpected: false };
    return each === node ? { ...now, state: 'leaving' as const } : now;
  });
  if (catalogTarget(nodes, membership) === undefined) {
    return failed(`the catalog would have no quorum without node ${node.node}: of the others answer ${up.join(', ')}`);
  }
  const placings = planPlacements({ ...view, nodes }, { copies, movesMax: Number.POSITIVE_INFINITY });
  const planned = new Map(placings.map((placing) => [placing.group, placing.nodes.length]));
  const stuck = view.bindings.filter((binding) => holds(binding, node.node) && !planned.has(binding.group));
  if (stuck.length > 0) {
    return failed(
      `without node ${node.node} there would be no quorum of ${named(stuck)}: of the others answer ${up.join(', ')}`,
    );
  }
  const leaving = view.nodes.filter(({ state }) => state === 'leaving').map((each) => each.node);
  const few = view.bindings.filter((binding) => {
    const before = binding.replicas.length - binding.leaving.length;
    const after = planned.get(binding.group) ?? before;
    return (
      after < Math.min(replicasMin, binding.copies || copies, before) && (leaving.length > 0 || after < before - 1)
    );
  });
  if (few.length === 0) return undefined;
  const why =
    leaving.length === 0
      ? `of the others answer ${up.join(', ')}; see that more do`
      : `node ${leaving.join(', ')} leaves already; ask again when it is removed`;
  return failed(
    `without node ${node.node} too few replicas would be left of ${named(few)}: ${why}, or start another node first`,
  );
}

/** Names the first of them, with the nodes of their replicas. */
function named(bindings: readonly Binding[]): string {
  const first = bindings
    .slice(0, NAMED_MAX)
    .map(({ name, replicas }) => `${name} (on ${replicas.map(nodeOf).join(', ')})`);
  const more = bindings.length > NAMED_MAX ? `, and ${bindings.length - NAMED_MAX} more` : '';
  return first.join(', ') + more;
}

function notThere(node: NodeId, { nodes }: ClusterState): OrderFault {
  const known = nodes.map((each) => each.node).join(', ');
  return {
    code: 'not_found',
    reason: `there is no node ${node}; the cluster has ${known === '' ? 'none yet' : known}`,
  };
}

export function failed(reason: string): OrderFault {
  return { code: 'failed_precondition', reason };
}
