/** What asks other nodes, loaded with the first question. */
import type { Address } from '#base';
import type { AdminReply, JoinReply } from '#cluster';
import type * as Asking from './asking.ts';
import type { PeerTls } from './peer-tls.ts';

export async function askToJoin(...question: Parameters<typeof Asking.askToJoin>): Promise<JoinReply> {
  const asking = await import('./asking.ts');
  return asking.askToJoin(...question);
}

export async function askAdmin(...question: Parameters<typeof Asking.askAdmin>): Promise<AdminReply> {
  const asking = await import('./asking.ts');
  return asking.askAdmin(...question);
}

/** The cluster of the node at an address; undefined when there is no answer in time. */
export async function askForCluster(address: Address, timeoutMs: number, tls?: PeerTls): Promise<string | undefined> {
  const asking = await import('./asking.ts');
  return asking.askForCluster(address, timeoutMs, tls);
}

/** Why whoever is there does not let this side ask; undefined when nobody is, or it says nothing of that kind. */
export async function refusalAt(address: Address, tls?: PeerTls): Promise<string | undefined> {
  const refusals = await import('./refusals.ts');
  return refusals.refusalAt(address, tls);
}
