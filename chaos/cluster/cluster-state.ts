/**
 * The state of the cluster as its nodes report it: for the output of a failed run, and to decide whether a node may
 * lose its volume. A report may be outdated; a node that was away or has just joined knows little.
 */
import type { ClusterDescription } from '#cluster';
import { clusterCommandAt } from '../../test/support/cluster-command.ts';
import type { Member } from './member.ts';

/** Returns the status that each node reports; the reports may differ. */
export async function stateOf(members: readonly Member[]): Promise<string> {
  const parts = members.map(async ({ name, peer }) => {
    const status = await clusterCommandAt(peer, 'status').catch((failure: unknown) => String(failure));
    return `${name} at ${peer} says:\n${status}`;
  });
  return (await Promise.all(parts)).join('\n');
}

/** Voters needed so that a majority still has the data after the loss of one. */
const COPIES_MIN = 3;

/**
 * True when the cluster has removed the node.
 * @throws Error when the reporting node does not know that node yet.
 */
export function isRemoved({ nodes, node: witness }: ClusterDescription, number: number): boolean {
  const found = nodes.find(({ node }) => node === number);
  if (found === undefined) throw new Error(`node ${witness} does not know node ${number} yet`);
  return found.state === 'removed';
}

/**
 * Returns the reason why the node must not lose its volume, or undefined when it may. New databases and the catalog
 * start with few replicas, so this volume may have the only one.
 */
export function whyNotToLose(cluster: ClusterDescription, number: number): string | undefined {
  const { nodes, databases, isConfirmed, node: witness } = cluster;
  // An unconfirmed report may lack new databases, and replicas that are being moved.
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
