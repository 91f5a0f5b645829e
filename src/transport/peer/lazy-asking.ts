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

export async function askAdminAsClient(...question: Parameters<typeof Asking.askAdminAsClient>): Promise<AdminReply> {
  const asking = await import('./asking.ts');
  return asking.askAdminAsClient(...question);
}

/** What the node at an address belongs to; without an answer in time, why there is none. */
export async function askBelonging(
  ...question: Parameters<typeof Asking.askBelonging>
): ReturnType<typeof Asking.askBelonging> {
  const asking = await import('./asking.ts');
  return asking.askBelonging(...question);
}

/** The cluster of the node at an address; undefined when it belongs to none, or there is no answer in time. */
export async function askForCluster(...question: Parameters<typeof Asking.askBelonging>): Promise<string | undefined> {
  const answer = await askBelonging(...question);
  return answer.kind === 'member' ? answer.clusterId : undefined;
}

/** Why whoever is there does not let this side ask; undefined when nobody is, or it says nothing of that kind. */
export async function refusalAt(address: Address, tls?: PeerTls): Promise<string | undefined> {
  const refusals = await import('./refusals.ts');
  return refusals.refusalAt(address, tls);
}
