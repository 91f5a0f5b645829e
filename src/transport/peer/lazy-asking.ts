/** Client of other nodes, loaded with the first question. */
import type * as Asking from './asking.ts';
import type * as Refusals from './refusals.ts';

const asking = (): Promise<typeof Asking> => import('./asking.ts');

export const askToJoin: typeof Asking.askToJoin = async (...question) => (await asking()).askToJoin(...question);

export const askAdmin: typeof Asking.askAdmin = async (...question) => (await asking()).askAdmin(...question);

export const askAdminAsClient: typeof Asking.askAdminAsClient = async (...question) =>
  (await asking()).askAdminAsClient(...question);

export const askBelonging: typeof Asking.askBelonging = async (...question) =>
  (await asking()).askBelonging(...question);

/** The cluster of the node at an address; undefined when it belongs to none, or there is no answer in time. */
export async function askForCluster(...question: Parameters<typeof askBelonging>): Promise<string | undefined> {
  const answer = await askBelonging(...question);
  return answer.kind === 'member' ? answer.clusterId : undefined;
}

/** Why the node there refuses questions of this side; undefined when no node answers, or it gives no such reason. */
export const refusalAt: typeof Refusals.refusalAt = async (...place) =>
  (await import('./refusals.ts')).refusalAt(...place);
