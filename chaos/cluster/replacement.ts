/**
 * A change of the members of a cluster, as an operator makes it: a node with an empty volume joins, and another one
 * leaves, which runs until it is removed or has lost its process and its volume before. Whatever is in the way of a
 * command, such as other faults, it is repeated until it is done.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { clusterCommandAt, describedAt } from '../../test/support/cluster-command.ts';
import type { Fleet } from './fleet.ts';
import type { Member } from './member.ts';

/** A cluster to which nothing happens any more takes a small part of it. */
const REPLACED_WITHIN_MS = 300_000;
const RETRY_MS = 1000;
/** A node that is removed ends when it hears of it, which a cut network may keep from it. */
const HEARS_WITHIN_MS = 15_000;

/** Has the waiting host take the place of a node. `isDead`: that node has nothing left. */
export async function replace(fleet: Fleet, old: Member, isDead: boolean): Promise<void> {
  const { spare } = fleet;
  if (spare === undefined) throw new Error('There is no host for another node');
  if (isDead) {
    await old.end('SIGKILL');
    old.disk.wipe();
  } else old.allowRemoval();
  await spare.startAnew(fleet.active.filter((member) => member !== old).map(({ peer }) => peer));
  fleet.join(spare);
  const words = isDead ? ['replace', '--by'] : ['decommission'];
  await untilDone(fleet, async (peer) => {
    const number = await numberOf(peer, old);
    // It was removed by a command whose answer was lost.
    if (number === undefined) return;
    const [command = '', ...rest] = words;
    const by = rest.length === 0 ? [] : [...rest, String(await numberOf(peer, spare))];
    await clusterCommandAt(peer, command, String(number), ...by, '--wait');
  });
  fleet.leave(old);
  if (!isDead && !(await old.endsWithin(HEARS_WITHIN_MS))) await old.end('SIGKILL');
  old.disk.wipe();
}

/** Asks one node after the other until the work is done at one. */
async function untilDone(fleet: Fleet, work: (peer: string) => Promise<void>): Promise<void> {
  const endMs = performance.now() + REPLACED_WITHIN_MS;
  for (let asked = 0; ; asked += 1) {
    const { peer } = fleet.active[asked % fleet.active.length] ?? fleet.active[0];
    try {
      await work(peer);
      return;
    } catch (failure) {
      if (performance.now() > endMs) throw failure;
    }
    await delay(RETRY_MS);
  }
}

/** The number of the node on this host; undefined: it is removed, or was never there. */
async function numberOf(peer: string, { name }: Member): Promise<number | undefined> {
  const cluster = await describedAt(peer);
  if (cluster === undefined) throw new Error(`${peer} does not say who is there`);
  return cluster.nodes.find((each) => each.name === name && each.state !== 'removed')?.node;
}
