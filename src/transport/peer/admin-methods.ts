/** The admin API (cairn.admin.v1) at the peer port: its methods and their errors. */
import { type handleUnaryCall, type Server, type ServerUnaryCall, type ServiceError, status } from '@grpc/grpc-js';
import type { Administer, AdminReply, AdminRequest, Asker } from '#cluster';
import { ADMIN_METHODS, isAdminMethod, readAdminRequest, statusOfRefusal, writeAdminReply } from '../admin-messages.ts';

export function addAdminMethods(server: Server, administer: Administer): void {
  for (const [method, path] of Object.entries(ADMIN_METHODS)) {
    if (!isAdminMethod(method)) continue;
    const handle: handleUnaryCall<AdminRequest | string, AdminReply> = (call, respond) => {
      const { request } = call;
      if (typeof request === 'string') {
        respond({ code: status.INVALID_ARGUMENT, details: request });
        return;
      }
      void administer(request, askerOf(call)).then(
        (reply) =>
          'reason' in reply
            ? respond({ code: status[statusOfRefusal(reply)], details: reply.reason })
            : respond(null, reply),
        (error: Error) => respond({ code: status.INTERNAL, details: error.message }),
      );
    };
    server.register(path, handle, writeReply, (bytes: Buffer) => readAdminRequest(method, bytes), 'unary');
  }
}

/** A certificate may have several common names: Node then gives a list, and all are named. */
export function askerOf(call: Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'getAuthContext'>): Asker {
  const address = call.getPeer();
  const name = call.getAuthContext().sslPeerCertificate?.subject.CN;
  return name === undefined ? { address } : { address, certificate: [name].flat().join(', ') };
}

/** The reply of a node, or the reason for its absence. */
export function replyOf(
  error: Pick<ServiceError, 'code' | 'details'> | null,
  reply: AdminReply | undefined,
): AdminReply {
  if (error === null) return reply ?? { kind: 'later', reason: 'the answer is malformed' };
  const reason = error.details;
  if (error.code === status.NOT_FOUND) return { kind: 'faulty', code: 'not_found', reason };
  if (error.code === status.FAILED_PRECONDITION) return { kind: 'faulty', code: 'failed_precondition', reason };
  return { kind: 'later', reason };
}

function writeReply(reply: AdminReply): Buffer {
  return 'reason' in reply ? Buffer.alloc(0) : writeAdminReply(reply);
}
