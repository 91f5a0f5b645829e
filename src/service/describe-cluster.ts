/** The cluster as the leader of its catalog knows it, by the question that operators ask (`cairn cluster status`). */
import { DatabaseError, parseAddress } from '#base';
import type { AskAdmin, ClusterDescription } from '#cluster';
import type { Traced } from '#observability';
import type { ServiceContext } from './context.ts';

export interface DescribeClusterRequest extends Traced {
  readonly signal: AbortSignal;
}

/** Longer than a node takes to ask others. */
const ANSWER_MS = 10_000;

/** Asked at this node's own peer address: its core puts together what all nodes say. */
export async function describeCluster(
  { node, askAdmin }: ServiceContext,
  { signal }: DescribeClusterRequest,
): Promise<ClusterDescription> {
  const address = node.peerAddress === undefined ? undefined : parseAddress(node.peerAddress);
  if (askAdmin === undefined || address === undefined) {
    throw new DatabaseError('not_found', 'This node has no peer port: it is alone, and there is no cluster to tell of');
  }
  const reply = await askAdmin(address, { order: { kind: 'describe' }, isPassedOn: false }, ANSWER_MS);
  signal.throwIfAborted();
  if (reply.kind === 'described') return reply.cluster;
  throw notDescribed(reply);
}

function notDescribed(reply: Awaited<ReturnType<AskAdmin>>): DatabaseError {
  const why = 'reason' in reply ? reply.reason : `the answer was ${reply.kind}`;
  return new DatabaseError('unavailable', `The cluster was not described: ${why}`);
}
