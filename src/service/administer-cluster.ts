/**
 * Admin requests from any port: the core of this node carries them out, or passes them on to the leader of the catalog.
 */
import { DatabaseError } from '#base';
import type { AdminReply, AdminRequest, ClusterDescription } from '#cluster';
import type { Traced } from '#observability';
import type { ServiceContext } from './context.ts';

export interface DescribeClusterRequest extends Traced {
  readonly signal: AbortSignal;
}

export interface AdministerClusterRequest extends DescribeClusterRequest {
  readonly order: AdminRequest['order'];
}

export async function administerCluster(
  { administer }: ServiceContext,
  { order, signal }: AdministerClusterRequest,
): Promise<AdminReply> {
  if (administer === undefined) {
    throw new DatabaseError('not_found', 'This node has no peer port, so it is not part of a cluster');
  }
  const reply = await administer(order);
  signal.throwIfAborted();
  return reply;
}

/** Returns the cluster as the leader of the catalog knows it (`cairn cluster status`). */
export async function describeCluster(
  context: ServiceContext,
  request: DescribeClusterRequest,
): Promise<ClusterDescription> {
  const reply = await administerCluster(context, { ...request, order: { kind: 'describe' } });
  if (reply.kind === 'described') return reply.cluster;
  const why = 'reason' in reply ? reply.reason : `the answer was ${reply.kind}`;
  throw new DatabaseError('unavailable', `The cluster was not described: ${why}`);
}
