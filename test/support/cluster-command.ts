/** Runs the admin command `cairn cluster …` against a node of a cluster, and reads its description of the cluster. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ClusterDescription } from '#cluster';
import { productArgs } from '../../chaos/support/product.ts';

const run = promisify(execFile);
/** Limit of a command that waits for slow moves of replicas; repeating the command continues the wait. */
const COMMAND_MS = 120_000;

/** Runs `cairn cluster …` at a peer address. Rejects with its output unless it exits with 0 in time. */
export async function clusterCommandAt(peer: string, ...words: readonly string[]): Promise<string> {
  const args = [...productArgs(), 'cluster', ...words, `--at=${peer}`];
  const limit = AbortSignal.timeout(COMMAND_MS);
  try {
    return (await run(process.execPath, args, { signal: limit, killSignal: 'SIGKILL' })).stdout;
  } catch (failure) {
    if (!limit.aborted) throw failure;
    const message = `\`cairn cluster ${words.join(' ')}\` at ${peer} has not ended within ${COMMAND_MS / 1000} s`;
    throw new Error(message, { cause: failure });
  }
}

/** Undefined when the node does not answer. */
export async function describedAt(peer: string, ...words: readonly string[]): Promise<ClusterDescription | undefined> {
  const text = await clusterCommandAt(peer, 'status', '--json', ...words).catch(() => 'null');
  const description: ClusterDescription | null = JSON.parse(text);
  return description ?? undefined;
}

/** Number of catalog voters. */
export async function votersAt(peer: string): Promise<number> {
  return (await describedAt(peer))?.nodes.filter(({ catalogRole }) => catalogRole === 'voter').length ?? 0;
}

/** Numbers of the nodes with the first database, in order, when its placement is settled and all of them are voters. */
export async function holdersAt(peer: string): Promise<string | undefined> {
  const [database] = (await describedAt(peer))?.databases ?? [];
  const voters = database?.members.filter(({ isVoter }) => isVoter).map(({ node }) => node) ?? [];
  const isThere = database?.isSettled === true && inOrder(voters) === inOrder(database.nodes);
  return isThere ? inOrder(voters) : undefined;
}

function inOrder(nodes: readonly number[]): string {
  return nodes.toSorted((one, other) => one - other).join();
}
