/** What asks other nodes, loaded with the first question. */
import type { Address } from '#base';
import type { AskAdmin, AskToJoin } from '#cluster';

export const askToJoin: AskToJoin = async (...question) => {
  const asking = await import('./asking.ts');
  return asking.askToJoin(...question);
};

export const askAdmin: AskAdmin = async (...question) => {
  const asking = await import('./asking.ts');
  return asking.askAdmin(...question);
};

/** The cluster of the node at an address; undefined when there is no answer in time. */
export async function askForCluster(address: Address, timeoutMs: number): Promise<string | undefined> {
  const asking = await import('./asking.ts');
  return asking.askForCluster(address, timeoutMs);
}
