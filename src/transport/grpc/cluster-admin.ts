/**
 * cairn.admin.v1 at the client port, for principals with the right to administer all databases. Nodes offer the same
 * service to each other at the peer port, where forwarded requests are trusted; clients cannot forward.
 */
import { DatabaseError } from '#base';
import {
  ADMIN_METHOD_NAMES,
  ADMIN_METHODS,
  readAdminRequest,
  statusOfRefusal,
  writeAdminReply,
} from '../admin-messages.ts';
import { tracedAs } from './call-traces.ts';
import { CLUSTER_ADMIN, type GrpcContext } from './metadata.ts';
import { frame } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';

export function clusterAdminMethods({ service }: GrpcContext): readonly UnaryMethod[] {
  return ADMIN_METHOD_NAMES.map((method) => {
    const path = ADMIN_METHODS[method];
    const handle: UnaryMethod['handle'] = async (call, bytes) => {
      const request = readAdminRequest(method, bytes);
      if (typeof request === 'string') throw new DatabaseError('invalid_argument', request);
      // Only the leader of the catalog may declare a drain safe, not a client.
      const order = request.order.kind === 'drain' ? { ...request.order, isGranted: false } : request.order;
      const reply = await service.administerCluster({ order, signal: call.signal, ...tracedAs(call) });
      if ('reason' in reply) call.finish({ code: statusOfRefusal(reply), message: reply.reason });
      else call.reply(frame(writeAdminReply(reply)));
    };
    return { kind: 'unary', service: CLUSTER_ADMIN, name: path.slice(path.lastIndexOf('/') + 1), handle };
  });
}
