/**
 * Replaces a node of the cluster with the admin commands of an operator: a node with an empty volume joins, and the old
 * node leaves, either while it runs or after its process and volume were lost. Commands are repeated until they
 * succeed, because other faults may interfere.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterDescription } from '#cluster';
import { clusterCommandAt, describedAt } from '../../test/support/cluster-command.ts';
import { isRemoved, stateOf, whyNotToLose } from './cluster-state.ts';
import type { Fleet } from './fleet.ts';
import type { Member } from './member.ts';

/** A cluster without faults needs a small part of this time. */
const REPLACED_WITHIN_MS = 300_000;
const RETRY_MS = 1000;
/** A removed node exits when it learns of its removal, which a partition may prevent. */
const HEARS_WITHIN_MS = 15_000;

/**
 * Replaces a node with the spare host. `isDead`: the old node loses its process and volume first. `say` reports
 * progress.
 */
export async function replace(
  fleet: Fleet,
  { old, isDead, say }: { readonly old: Member; readonly isDead: boolean; readonly say: (line: string) => void },
): Promise<void> {
  const { spare } = fleet;
  if (spare === undefined) throw new Error('There is no host for another node');
  const number = await numberOf(old, say);
  if (isDead) {
    await untilDone(fleet.active, say, async (peer) => {
      const reason = whyNotToLose(await clusterAt(peer), number);
      if (reason !== undefined) throw new Error(reason);
    });
    await old.end('SIGKILL');
    old.disk.wipe();
  } else old.allowRemoval();
  await spare.startAnew(fleet.active.filter((member) => member !== old).map(({ peer }) => peer));
  fleet.join(spare);
  say(`${spare.name} has joined, and takes the place of ${old.name}${isDead ? ', which has nothing left' : ''}`);
  // The operator knows that a dead node does not answer.
  const asked = fleet.active.filter((member) => !isDead || member !== old);
  const words = isDead
    ? ['replace', `${number}`, '--by', `${await numberOf(spare, say)}`]
    : ['decommission', `${number}`];
  await untilDone(asked, say, async (peer) => {
    // An earlier command, whose reply was lost, may have done it.
    if (isRemoved(await clusterAt(peer), number)) return;
    await clusterCommandAt(peer, ...words, '--wait');
  });
  fleet.leave(old);
  if (!isDead && !(await old.endsWithin(HEARS_WITHIN_MS))) await old.end('SIGKILL');
  old.disk.wipe();
}

/**
 * Returns the number of the node. Only the node itself is asked: its host may have had earlier nodes, and the reports
 * of other nodes may be outdated.
 */
async function numberOf(member: Member, say: (line: string) => void): Promise<number> {
  return untilDone([member], say, async (peer) => (await clusterAt(peer)).node);
}

async function clusterAt(peer: string): Promise<ClusterDescription> {
  const cluster = await describedAt(peer);
  if (cluster === undefined) throw new Error('it does not say who is there');
  return cluster;
}

/** Tries the work at one node after the other until it succeeds. */
async function untilDone<Result>(
  members: readonly Member[],
  say: (line: string) => void,
  work: (peer: string) => Promise<Result>,
): Promise<Result> {
  const endMs = performance.now() + REPLACED_WITHIN_MS;
  for (;;) {
    for (const { peer } of members) {
      try {
        return await work(peer);
      } catch (failure) {
        say(`not done yet, says ${peer}: ${reasonOf(failure)}`);
        if (performance.now() <= endMs) await delay(RETRY_MS);
        else throw new Error(`${reasonOf(failure)}\n${await stateOf(members)}`, { cause: failure });
      }
    }
  }
}

/** The output of a failed command, without the command line. */
function reasonOf(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  return text.replace(/^Command failed: .*\n/, '').trim();
}
