/** The command of an operator, run as he would type it, against a node of a cluster. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ClusterDescription } from '#cluster';
import { productArgs } from '../../chaos/support/product.ts';

const run = promisify(execFile);

/** Runs `cairn cluster …` at a peer address; rejects with what it says when it ends with another code than 0. */
export async function clusterCommandAt(peer: string, ...words: readonly string[]): Promise<string> {
  const args = [...productArgs(), 'cluster', ...words, `--at=${peer}`];
  return (await run(process.execPath, args)).stdout;
}

/** Undefined when the node does not answer. */
export async function describedAt(peer: string): Promise<ClusterDescription | undefined> {
  const text = await clusterCommandAt(peer, 'status', '--json').catch(() => 'null');
  const description: ClusterDescription | null = JSON.parse(text);
  return description ?? undefined;
}

/** Which nodes hold the first database, when that is settled and all of them vote: their numbers, in order. */
export async function holdersAt(peer: string): Promise<string | undefined> {
  const [database] = (await describedAt(peer))?.databases ?? [];
  const voters = database?.members.filter(({ isVoter }) => isVoter).map(({ node }) => node) ?? [];
  const isThere = database?.isSettled === true && inOrder(voters) === inOrder(database.nodes);
  return isThere ? inOrder(voters) : undefined;
}

function inOrder(nodes: readonly number[]): string {
  return nodes.toSorted((one, other) => one - other).join();
}
