/** Replies of cairn.admin.v1 as bytes, and why there is none: the same at the peer port and at the gRPC port. */
import type { AdminReply } from '#cluster';
import {
  type AdminMethod,
  readDescription,
  readDone,
  readFinalized,
  writeDescription,
  writeDone,
  writeFinalized,
} from './admin-messages.ts';
import { readCopy, readRecovered, writeCopy, writeRecovered } from './recovery-messages.ts';

type Refusal = Extract<AdminReply, { readonly reason: string }>;

export function writeAdminReply(reply: Exclude<AdminReply, Refusal>): Buffer {
  switch (reply.kind) {
    case 'done':
      return writeDone(reply.node);
    case 'finalized':
      return writeFinalized(reply.level);
    case 'recovered':
      return writeRecovered(reply.database);
    case 'copy':
      return writeCopy(reply);
    case 'described':
      return writeDescription(reply.cluster);
  }
}

/** Undefined when the bytes make no sense. */
export function readAdminReply(method: AdminMethod, bytes: Buffer): AdminReply | undefined {
  if (method === 'finalize') return readFinalized(bytes);
  if (method === 'recover') return readRecovered(bytes);
  if (method === 'copy') return readCopy(bytes);
  if (method !== 'describe') return readDone(bytes);
  const cluster = readDescription(bytes);
  return cluster && { kind: 'described', cluster };
}

/** The status of gRPC, by its name. */
export function statusOfRefusal(reply: Refusal): 'UNAVAILABLE' | 'NOT_FOUND' | 'FAILED_PRECONDITION' {
  // Of another node, which the one that was asked cannot ask.
  if (reply.kind === 'later' || reply.code === 'refused') return 'UNAVAILABLE';
  return reply.code === 'not_found' ? 'NOT_FOUND' : 'FAILED_PRECONDITION';
}
