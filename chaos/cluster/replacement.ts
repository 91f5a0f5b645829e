/**
 * A change of the members of a cluster, as an operator makes it: a node with an empty volume joins, and another one
 * leaves, which runs until it is removed or has lost its process and its volume before. Whatever is in the way of a
 * command, such as other faults, it is repeated until it is done.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterDescription } from '#cluster';
import { clusterCommandAt, describedAt } from '../../test/support/cluster-command.ts';
import { stateOf } from './cluster-state.ts';
import type { Fleet } from './fleet.ts';
import type { Member } from './member.ts';

/** A cluster to which nothing happens any more takes a small part of it. */
const REPLACED_WITHIN_MS = 300_000;
const RETRY_MS = 1000;
/** What is lost with one of so many is still with a majority. */
const COPIES_MIN = 3;
/** A node that is removed ends when it hears of it, which a cut network may keep from it. */
const HEARS_WITHIN_MS = 15_000;

/** Has the waiting host take the place of a node. `isDead`: that node has nothing left. `say` hears how it goes. */
export async function replace(
  fleet: Fleet,
  { old, isDead, say }: { readonly old: Member; readonly isDead: boolean; readonly say: (line: string) => void },
): Promise<void> {
  const { spare } = fleet;
  if (spare === undefined) throw new Error('There is no host for another node');
  if (isDead) {
    await untilDone(fleet.active, say, (peer) => expectCopies(peer, old));
    await old.end('SIGKILL');
    old.disk.wipe();
  } else old.allowRemoval();
  await spare.startAnew(fleet.active.filter((member) => member !== old).map(({ peer }) => peer));
  fleet.join(spare);
  say(`${spare.name} has joined, and takes the place of ${old.name}${isDead ? ', which has nothing left' : ''}`);
  // An operator knows that a dead node does not answer.
  const asked = fleet.active.filter((member) => !isDead || member !== old);
  await untilDone(asked, say, async (peer) => {
    const cluster = await describedAt(peer);
    if (cluster === undefined) throw new Error('it does not say who is there');
    const number = numberOf(cluster, old);
    // It was removed by a command whose answer was lost.
    if (number === undefined) return;
    const words = isDead
      ? ['replace', `${number}`, '--by', `${numberOf(cluster, spare)}`]
      : ['decommission', `${number}`];
    await clusterCommandAt(peer, ...words, '--wait');
  });
  fleet.leave(old);
  if (!isDead && !(await old.endsWithin(HEARS_WITHIN_MS))) await old.end('SIGKILL');
  old.disk.wipe();
}

/** A database begins with the nodes that are there, and the catalog with one: its volume may then be all there is. */
async function expectCopies(peer: string, old: Member): Promise<void> {
  const cluster = await describedAt(peer);
  if (cluster === undefined) throw new Error('it does not say who is there');
  const number = numberOf(cluster, old);
  const voters = cluster.nodes.filter(({ catalogRole }) => catalogRole === 'voter');
  if (voters.length < COPIES_MIN)
    throw new Error(`the catalog has ${voters.length} voters, and ${COPIES_MIN} are needed`);
  const alone = cluster.databases.find(({ nodes, isSettled, members }) => {
    const copies = members.filter(({ isVoter }) => isVoter);
    return nodes.some((node) => node === number) && !(isSettled && copies.length >= COPIES_MIN);
  });
  if (alone !== undefined) throw new Error(`${alone.name} has no ${COPIES_MIN} copies yet, one of them on ${old.name}`);
}

/** Asks one node after the other until the work is done at one. */
async function untilDone(
  members: readonly Member[],
  say: (line: string) => void,
  work: (peer: string) => Promise<void>,
): Promise<void> {
  const endMs = performance.now() + REPLACED_WITHIN_MS;
  for (;;) {
    for (const { peer } of members) {
      try {
        await work(peer);
        return;
      } catch (failure) {
        say(`not done yet, says ${peer}: ${reasonOf(failure)}`);
        if (performance.now() <= endMs) await delay(RETRY_MS);
        else throw new Error(`${reasonOf(failure)}\n${await stateOf(members)}`, { cause: failure });
      }
    }
  }
}

/** What a command said, without the command line. */
function reasonOf(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  return text.replace(/^Command failed: .*\n/, '').trim();
}

/** The number of the node on this host; undefined: it is removed, or was never there. */
function numberOf({ nodes }: ClusterDescription, { name }: Member): number | undefined {
  return nodes.find((each) => each.name === name && each.state !== 'removed')?.node;
}
