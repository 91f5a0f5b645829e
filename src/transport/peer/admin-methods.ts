/** The service of operators (cairn.admin.v1) at the port of the links: its methods, and how it says no. */
import { type handleUnaryCall, type Server, type ServerUnaryCall, type ServiceError, status } from '@grpc/grpc-js';
import type { Administer, AdminReply, AdminRequest, Asker } from '#cluster';
import {
  ADMIN_METHODS,
  type AdminMethod,
  readAdminRequest,
  readDescription,
  readDone,
  readFinalized,
  writeDescription,
  writeDone,
  writeFinalized,
} from './admin-messages.ts';
import { readCopy, readRecovered, writeCopy, writeRecovered } from './recovery-messages.ts';

export function addAdminMethods(server: Server, administer: Administer): void {
  for (const [method, path] of Object.entries(ADMIN_METHODS)) {
    if (!isMethod(method)) continue;
    const handle: handleUnaryCall<AdminRequest | string, AdminReply> = (call, respond) => {
      const { request } = call;
      if (typeof request === 'string') {
        respond({ code: status.INVALID_ARGUMENT, details: request });
        return;
      }
      void administer(request, askerOf(call)).then(
        (reply) => ('reason' in reply ? respond({ code: codeOf(reply), details: reply.reason }) : respond(null, reply)),
        (error: Error) => respond({ code: status.INTERNAL, details: error.message }),
      );
    };
    server.register(path, handle, writeReply, (bytes: Buffer) => readAdminRequest(method, bytes), 'unary');
  }
}

/** A certificate may have several common names: Node gives a list of them then, and all are named. */
export function askerOf(call: Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'getAuthContext'>): Asker {
  const address = call.getPeer();
  const name = call.getAuthContext().sslPeerCertificate?.subject.CN;
  return name === undefined ? { address } : { address, certificate: [name].flat().join(', ') };
}

/** What somebody has answered. */
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

export function readReply(method: AdminMethod, bytes: Buffer): AdminReply | undefined {
  if (method === 'finalize') return readFinalized(bytes);
  if (method === 'recover') return readRecovered(bytes);
  if (method === 'copy') return readCopy(bytes);
  if (method !== 'describe') return readDone(bytes);
  const cluster = readDescription(bytes);
  return cluster && { kind: 'described', cluster };
}

function writeReply(reply: AdminReply): Buffer {
  if (reply.kind === 'done') return writeDone(reply.node);
  if (reply.kind === 'finalized') return writeFinalized(reply.level);
  if (reply.kind === 'recovered') return writeRecovered(reply.database);
  if (reply.kind === 'copy') return writeCopy(reply);
  return reply.kind === 'described' ? writeDescription(reply.cluster) : Buffer.alloc(0);
}

function codeOf(reply: Extract<AdminReply, { readonly reason: string }>): status {
  if (reply.kind === 'later') return status.UNAVAILABLE;
  return reply.code === 'not_found' ? status.NOT_FOUND : status.FAILED_PRECONDITION;
}

function isMethod(name: string): name is AdminMethod {
  return name in ADMIN_METHODS;
}
