/**
 * What an operator would look at before and after a change, and when a cluster is not as it should be. A node says what
 * it knows, which may be of before: one that was away, or has just joined, knows little.
 */
import type { ClusterDescription } from '#cluster';
import { clusterCommandAt } from '../../test/support/cluster-command.ts';
import type { Member } from './member.ts';

/** What each node says of the cluster: they may not agree. */
export async function stateOf(members: readonly Member[]): Promise<string> {
  const parts = members.map(async ({ name, peer }) => {
    const status = await clusterCommandAt(peer, 'status').catch((failure: unknown) => String(failure));
    return `${name} at ${peer} says:\n${status}`;
  });
  return (await Promise.all(parts)).join('\n');
}

/** What is lost with one of so many is still with a majority. */
const COPIES_MIN = 3;

/** Whether the node is out of the cluster for good. @throws Error when whoever describes the cluster has not met it. */
export function isRemoved({ nodes, node: witness }: ClusterDescription, number: number): boolean {
  const found = nodes.find(({ node }) => node === number);
  if (found === undefined) throw new Error(`node ${witness} does not know node ${number} yet`);
  return found.state === 'removed';
}

/**
 * Why the node must not lose its volume, as far as is known; undefined when it may. A database begins with the nodes
 * that are there, and the catalog with one: the volume may then be all there is.
 */
export function whyNotToLose(cluster: ClusterDescription, number: number): string | undefined {
  const { nodes, databases, isConfirmed, node: witness } = cluster;
  // Others may not know of databases, or of moves, that have begun.
  if (!isConfirmed) return `node ${witness} has not heard who leads the catalog`;
  const voters = nodes.filter(({ catalogRole, answers }) => catalogRole === 'voter' && answers);
  if (voters.length < COPIES_MIN) return `of the voters of the catalog ${voters.length} answer, not ${COPIES_MIN}`;
  const alone = databases.find(({ nodes: holders, isSettled, members }) => {
    const copies = members.filter(({ isVoter }) => isVoter);
    return holders.some((node) => node === number) && !(isSettled && copies.length >= COPIES_MIN);
  });
  return alone === undefined
    ? undefined
    : `${alone.name} has no ${COPIES_MIN} copies yet, one of them on node ${number}`;
}
