/**
 * Who votes in the catalog. Every node holds it; one, three or five of them vote, in zones of their own if they can.
 * Whoever votes goes on voting as long as he may, so that a node that comes back finds nothing changed; one that is
 * lost gives his vote to one that answers.
 *
 *   C18  Nobody gets a vote in the catalog who does not answer; whoever leaves has none before he is removed; and a
 *        change is wanted only if most of those who are to vote answer. Whoever leaves keeps his as long as somebody is
 *        expected who could have it.
 */
import { type NodeId, nodeOf, type ReplicaId, replicaOf } from '#base';
import type { Membership, Target } from '#raft';
import type { NodeView } from '../placement/placement.ts';
import { answers, canTake, choose, comes, countFor } from '../placement/spread.ts';

/** Voters of the catalog at most. */
const VOTERS_MAX = 5;

/** What the group of the catalog should be; undefined when it should stay as it is. */
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

/** A node that is removed stays until it has heard of that, and ends. */
function learns(node: NodeView, voters: readonly NodeView[]): boolean {
  return !voters.includes(node) && (node.state !== 'removed' || answers(node));
}

function replicasOf(nodes: readonly NodeView[]): readonly ReplicaId[] {
  return nodes.map(({ node }) => replicaOf(node)).toSorted((one, other) => one - other);
}

const NO_LOADS: ReadonlyMap<NodeId, number> = new Map();
