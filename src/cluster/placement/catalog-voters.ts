/**
 * Chooses the voters of the catalog. Every node is a member; one, three or five of them vote, in different zones if
 * possible. A voter keeps its vote as long as possible, so that a node that comes back finds nothing changed. When a
 * node is lost, its vote moves to one that answers.
 *
 *   C18  A node that does not answer gets no vote in the catalog; a leaving node loses its vote before it is removed;
 *        and a change is made only if most of the new voters answer. A leaving node keeps its vote while another node
 *        is expected that could take it.
 */
import { type NodeId, nodeOf, type ReplicaId, replicaOf } from '#base';
import type { Membership, Target } from '#raft';
import type { NodeView } from './placement.ts';
import { answers, canTake, choose, comes, countFor } from './spread.ts';

/** Maximum number of voters of the catalog. */
const VOTERS_MAX = 5;

/** The wanted membership of the catalog group; undefined when it should not change. */
export function catalogTarget(nodes: readonly NodeView[], membership: Membership): Target | undefined {
  const voting = membership.voters.incoming.map(nodeOf);
  const active = nodes.filter(({ state }) => state === 'active');
  const voters = active.filter(({ node }) => voting.includes(node));
  const kept = voters.filter(({ liveness }) => liveness !== 'lost');
  const free = active.filter((each) => canTake(each) && !voters.includes(each));
  const lost = voters.filter((each) => !kept.includes(each));
  const count = countFor(VOTERS_MAX, { kept: kept.length, free: free.length + lost.length });
  const added = choose(free, kept, count - kept.length, NO_LOADS);
  const staying = [...kept, ...added, ...lost].slice(0, count);
  const leaving = nodes.filter(({ node, state }) => state === 'leaving' && voting.includes(node));
  const isAwaited = active.some((each) => comes(each) && !voters.includes(each));
  const chosen = isAwaited ? [...staying, ...leaving].slice(0, Math.max(count, voting.length)) : staying;
  if (2 * chosen.filter(answers).length <= chosen.length) return undefined;
  return { voters: replicasOf(chosen), learners: replicasOf(nodes.filter((each) => learns(each, chosen))) };
}

/** A removed node stays a learner until it has received its removal and stops. */
function learns(node: NodeView, voters: readonly NodeView[]): boolean {
  return !voters.includes(node) && (node.state !== 'removed' || answers(node));
}

function replicasOf(nodes: readonly NodeView[]): readonly ReplicaId[] {
  return nodes.map(({ node }) => replicaOf(node)).toSorted((one, other) => one - other);
}

const NO_LOADS: ReadonlyMap<NodeId, number> = new Map();
