/** What an operator would look at when a cluster is not as it should be. */
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
